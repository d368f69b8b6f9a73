internal import LatchkeyJSON

// The effect of a step on a property, while a change is decided.

extension Change.Step {
    /// The property that the step starts from, if `former` is in the table: none if it has expired.
    func current(_ former: Property?, at time: Timestamp) throws(Refusal) -> Property? {
        guard let former else {
            return nil
        }
        let isExpired = former.isExpired(at: time)
        switch action {
        case .evict: return former
        case .expire where !isExpired: throw .preconditionFailed
        case .expire: return former
        default: return isExpired ? nil : former
        }
    }

    /// The reason for the step's effect.
    var reason: Commit.Reason {
        switch action {
        case .evict: .evicted
        case .expire: .expired
        case .touch: .touched
        case .get, .put, .delete, .increment, .merge, .pop, .deletePrefix, .count: .requested
        }
    }

    /// Checks the conditions against the property before the change.
    func check(_ former: Property?) throws(Refusal) {
        guard conditions.verdict(former?.revision) != .pass else {
            return
        }
        switch action {
        case .delete where former == nil, .touch where former == nil: throw .missing
        default: throw .preconditionFailed
        }
    }

    /// The property that the step makes of `current`; `prepared` is that of a put.
    func property(
        from current: Property?,
        prepared: Property?,
        valueByteCountMax: Int,
        _ work: inout ChangeWork
    ) throws(Refusal) -> Property? {
        switch action {
        case .get:
            return current
        case .put:
            // The length of a request is checked before; the limit of a disk can be lower.
            let byteCount = prepared.map { unsafe $0.valueBytes.count } ?? 0
            guard byteCount <= valueByteCountMax else { throw .valueTooLarge }
            return prepared
        case .delete, .expire, .evict:
            return nil
        case .touch:
            guard let current else { throw .missing }
            try work.takeTouch(current)
            return current.touched()
        case .pop, .deletePrefix, .count:
            preconditionFailure("Only a transaction has such a step.")
        case .increment(let step):
            try work.takeNumber(current)
            let sum = try sum(current, step)
            try work.takeCopy(sum)
            return sum
        case .merge(let patch):
            let value = try unsafe work.merge(patch, into: current)
            guard value.count <= valueByteCountMax else {
                throw .valueTooLarge
            }
            let merged = unsafe value.withUnsafeBytes { unsafe Property(name: name, value: $0) }
            try work.takeCopy(merged)
            return merged
        }
    }

    private func sum(_ current: Property?, _ step: Int64) throws(Refusal) -> Property {
        var number: Int64 = 0
        if let current {
            guard let integer = unsafe JSONInteger.parse(current.valueBytes) else {
                throw .notAnInteger
            }
            number = integer
        }
        let (sum, overflows) = number.addingReportingOverflow(step)
        guard !overflows else {
            throw .overflow
        }
        return unsafe JSONInteger.withBytes(of: sum) { bytes in
            unsafe Property(name: name, value: bytes)
        }
    }

    /// The expiry of the property that the step leaves; `current` is that of the property that it
    /// finds, if there is one.
    func expiry(from current: Timestamp?, at time: Timestamp) -> Timestamp {
        if let ttl, current == nil || !isOnlyIfNew {
            return Timestamp(milliseconds: time.milliseconds + ttl)
        }
        if case .put = action, ttl == nil {
            return .never
        }
        return current ?? .never
    }

    /// The property of a put.
    ///
    /// It is made before the guarded section, so that nothing is copied or allocated while other
    /// threads wait, and once for each execution, which stamps it: so a change can be executed
    /// again, and by several stores.
    func prepare() -> Property? {
        guard case .put(let value) = action else {
            return nil
        }
        return unsafe Property(name: name, value: value)
    }
}
