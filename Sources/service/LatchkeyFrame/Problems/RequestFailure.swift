/// An error that a request is answered with.
package struct RequestFailure: Error {
    package let problem: Problem
    /// A sentence about this occurrence, with nothing of the client's text but short names.
    package var detail: String?
    /// The time after which the client may try again; nil for that of the problem.
    package var retryAfterSeconds: Int?
    /// Whether this replica has stopped: another one is to be asked, and waiting does not help.
    package var isForOther = false

    package init(_ problem: Problem, _ detail: String? = nil) {
        self.problem = problem
        self.detail = detail
    }
}

extension RequestFailure {
    /// The failure of requests to a replica that has stopped permanently.
    package static func stopped(_ problem: Problem, _ detail: String) -> Self {
        let advice = "Send the request to another replica. /readyz?verbose says what is wrong here."
        var failure = Self(problem, "\(detail) \(advice)")
        failure.isForOther = true
        return failure
    }

    /// The failure of reads at a replica whose state differs from that of the others.
    package static let wrongState = stopped(
        .notLevel,
        "The state of this replica is not that of the others."
    )

    /// The failure of reads at a replica that executes nothing, because its disk is full.
    package static let fullReplica = stopped(
        .notLevel,
        "The disk of this replica is full, and its state is old."
    )

    /// The failure of reads that ask a stopped replica for a state that it does not have.
    package static let oldState = stopped(
        .notLevel,
        "This replica has stopped, and does not have the state that the read asks for."
    )
}
