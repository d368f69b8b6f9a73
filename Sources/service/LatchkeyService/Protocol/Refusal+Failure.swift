internal import LatchkeyFrame
internal import LatchkeyStore

extension Refusal {
    /// The problem for a request whose change is refused.
    var failure: RequestFailure {
        switch self {
        case .missing:
            return RequestFailure(.notFound)
        case .preconditionFailed:
            return RequestFailure(.preconditionFailed)
        case .notAnInteger:
            return RequestFailure(.notAnInteger)
        case .overflow:
            return RequestFailure(.overflow)
        case .valueTooLarge:
            return RequestFailure(.valueTooLarge)
        case .transactionTooLarge:
            return RequestFailure(.transactionTooLarge)
        case .changeTooLong:
            return RequestFailure(
                .bodyTooLarge,
                "Nothing was changed. A change of a replica of a cluster has at most 1.5 MB, names "
                    + "and values together, or less if etcd's --max-request-bytes is lower. Send "
                    + "shorter values, or fewer at once."
            )
        case .claimNameTooLong:
            return RequestFailure(
                .valueTooLarge,
                "The name of the claim would have more than \(PropertyName.byteCountMax) bytes."
            )
        case .notYet:
            return RequestFailure(.notFound)
        case .backlogFull:
            return RequestFailure(.backlogFull)
        case .full(.properties):
            return RequestFailure(
                .storeFull,
                "The number of properties has reached its limit, --max-properties."
            )
        case .full(.bytes):
            return RequestFailure(
                .storeFull,
                "The bytes of names and values have reached their limit, --max-bytes."
            )
        case .full(.quota(let quota)):
            // The prefix is the operator's; a name that begins with it is the client's own.
            return RequestFailure(
                .quotaExceeded,
                "The names and values of the properties whose names begin with '\(quota.text)' "
                    + "may have \(quota.byteCountMax) bytes together, and this change would exceed "
                    + "that (--quota)."
            )
        case .identityReused:
            return RequestFailure(.idempotencyKeyReused)
        case .tooManyIdentities:
            return RequestFailure(.tooManyIdempotencyKeys)
        case .answerNotKept:
            return RequestFailure(.answerNotKept)
        case .repeated(let refusal):
            return refusal.failure
        case .unavailable(.full):
            return RequestFailure(.diskFull)
        case .unavailable(.low):
            return RequestFailure(
                .diskFull,
                "Nothing was changed. The disk of the server has little room left. Only changes "
                    + "that remove are taken, such as DELETE, until there is more."
            )
        case .unavailable(.failing):
            return RequestFailure(.journalFailed)
        case .unavailable(.gone):
            return RequestFailure(
                .journalFailed,
                "Nothing was changed. The data folder of the server was removed or replaced. "
                    + "Changes are refused until the server ends. Reads still work."
            )
        case .unavailable(.stopped):
            return .stopped(
                .journalFailed,
                "Nothing was changed. This replica has stopped, and takes no changes any more."
            )
        case .unavailable(.unknown):
            return RequestFailure(
                .outcomeUnknown,
                "The disk, or etcd, did not say whether the change is written. It can be made "
                    + "later, or be there after a restart. Repeat the request if it had an "
                    + "Idempotency-Key; otherwise read the property before you repeat it."
            )
        case .step(let index, let branch, let refusal):
            let failure = refusal.failure
            let detail = failure.detail ?? failure.problem.title
            return RequestFailure(
                failure.problem,
                "Step \(index + 1) of \(branch.rawValue): \(detail)"
            )
        }
    }
}
