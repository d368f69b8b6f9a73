internal import LatchkeyJSON

/// The one door for names, values, times and revisions that do not come from a client of this
/// service, but out of a file, a log, a leader or another replica.
///
/// What passes could have come from a client, under some settings of this program; so all that is
/// done with it later can be done. Who reads such bytes says in a sentence what did not pass.
package enum InputCheck {
    /// The depth that `--max-json-depth` allows at most.
    package static let depthMax = 10_000
    /// The length that `--max-body-bytes` allows at most.
    package static let valueByteCountMax = 1 << 30
    /// Below it, sums with the jumps of a restore or a promotion are still numbers of a file.
    package static let revisionMax: Revision = 1 << 62
    /// The end of the year 2250.
    ///
    /// Linux sets no clock beyond 2232, and nanoseconds since 1970 have 63 bits until 2262.
    package static let millisecondsMax: Int64 = 8_867_491_199_999

    /// Whether a client could have sent the bytes as a value or as a merge patch.
    package static func isValue(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= valueByteCountMax else { return false }
        do {
            try unsafe JSONText.check(bytes, depthMax: depthMax)
            return true
        } catch {
            return false
        }
    }

    /// The name, if it is one.
    ///
    /// The owner is what keeps the bytes in place, if the caller does not.
    package static func name(
        _ bytes: UnsafeRawBufferPointer,
        owner: AnyObject? = nil
    ) -> PropertyName? {
        try? unsafe PropertyName(borrowing: bytes, owner: owner)
    }

    /// The revision, if a store can have it; 0 is before all commits.
    package static func revision(_ number: some BinaryInteger) -> Revision? {
        Revision(exactly: number).flatMap { $0 <= revisionMax ? $0 : nil }
    }

    /// The time, if a clock can show it.
    package static func time(_ milliseconds: some BinaryInteger) -> Timestamp? {
        Int64(exactly: milliseconds).flatMap {
            (0...millisecondsMax).contains($0) ? Timestamp(milliseconds: $0) : nil
        }
    }

    /// The end of a time to live, if one that begins at such a time can end then.
    package static func expiry(_ milliseconds: some BinaryInteger) -> Timestamp? {
        Int64(exactly: milliseconds).flatMap {
            (0...millisecondsMax + TimeToLiveText.millisecondsMax).contains($0)
                ? Timestamp(milliseconds: $0) : nil
        }
    }

    /// The property, if a store can have it: its value is one, and it came into being at its
    /// revision or before.
    ///
    /// The name has passed before, and the expiry is in milliseconds since 1970, nil for never.
    package static func property(
        _ name: PropertyName,
        _ value: UnsafeRawBufferPointer,
        revision: some BinaryInteger,
        created: some BinaryInteger,
        expiry: Int64?
    ) -> Property? {
        guard unsafe isValue(value),
            let revision = self.revision(revision), let created = self.revision(created),
            created > 0, created <= revision,
            let expiry = expiry.map({ self.expiry($0) }) ?? .never
        else { return nil }
        return unsafe Property(
            name: name,
            value: value,
            revision: revision,
            created: created,
            expiry: expiry
        )
    }
}

extension Change {
    /// Whether a client could have asked for the change, or the store itself.
    var isPossible: Bool {
        switch self {
        case .step(let step): return step.isPossible(inTransaction: false)
        case .transaction(let transaction):
            let isPlain =
                transaction.conditions.isEmpty && transaction.otherwise.isEmpty
                && !transaction.waits
            if transaction.isExpiry {
                // One of one property is no transaction.
                return isPlain && transaction.steps.count > 1
                    && transaction.steps.allSatisfy(\.isExpiry)
            }
            // An import puts more properties at once than the steps of a client's transaction.
            let isImport = isPlain && transaction.steps.allSatisfy(\.action.isPut)
            return (isImport || transaction.steps.count <= Self.stepCountMax)
                && transaction.otherwise.count <= Self.stepCountMax
                && transaction.conditions.count <= Self.stepCountMax
                && transaction.conditions.allSatisfy(\.test.isPossible)
                && transaction.steps.allSatisfy { $0.isPossible(inTransaction: true) }
                && transaction.otherwise.allSatisfy { $0.isPossible(inTransaction: true) }
        }
    }
}

extension Change.Step {
    /// Whether the store itself could have asked for the removal of what has expired.
    fileprivate var isExpiry: Bool {
        guard case .expire = action else { return false }
        return ttl == nil && conditions.ifMatch != nil
    }

    fileprivate func isPossible(inTransaction: Bool) -> Bool {
        guard ttl != nil || !isOnlyIfNew else { return false }
        switch action {
        case .put(let value), .merge(let value): return unsafe InputCheck.isValue(value)
        case .increment: return true
        case .get, .delete: return ttl == nil
        case .touch: return ttl != nil && !isOnlyIfNew
        case .expire: return !inTransaction && isExpiry
        case .evict: return !inTransaction && ttl == nil && conditions.ifMatch != nil
        case .pop(nil), .count: return inTransaction && ttl == nil && conditions == .none
        case .pop(let claim?):
            let isRight = unsafe InputCheck.isValue(claim.value.bytes)
            return inTransaction && ttl != nil && !isOnlyIfNew && conditions == .none && isRight
                && !claim.isMixed(with: name)
        case .deletePrefix(let countMax, _):
            return inTransaction && ttl == nil && conditions == .none
                && (1...Self.deletedCountMax).contains(countMax)
        }
    }
}

extension Change.Action {
    fileprivate var isPut: Bool { if case .put = self { true } else { false } }
}

extension Transaction.Test {
    fileprivate var isPossible: Bool {
        switch self {
        case .revision, .exists: true
        case .equals(let value), .compares(_, let value): unsafe InputCheck.isValue(value)
        }
    }
}
