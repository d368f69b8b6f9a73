/// The bytes that a transaction may still read and write while its stripes are held.
///
/// Conditions and steps of a few bytes can work on long values, each anew. The bound is what keeps
/// such a transaction short: it is refused before the step that would exceed it, and nothing of it
/// is applied.
struct TransactionWork {
    private var leftByteCount: Int

    init(_ limits: StoreLimits) {
        leftByteCount = limits.transactionByteCountMax
    }

    mutating func take(_ byteCount: Int) throws(Refusal) {
        leftByteCount -= byteCount
        guard leftByteCount >= 0 else {
            throw .transactionTooLarge
        }
    }
}

extension Transaction.Test {
    /// How many bytes the test reads.
    func readByteCount(_ property: Property?) -> Int {
        guard let property else {
            return 0
        }
        return switch self {
        case .revision, .exists: 0
        case .equals(let value), .compares(_, let value):
            unsafe property.valueBytes.count + value.count
        }
    }
}

extension Change.Step {
    /// How many bytes the step reads.
    ///
    /// What a put writes was copied before the stripes are held.
    func readByteCount(_ property: Property?) -> Int {
        switch action {
        case .get, .put, .delete, .expire, .evict, .touch, .pop, .deletePrefix, .count: 0
        case .increment, .merge:
            unsafe (property?.valueBytes.count ?? 0) + (action.content?.count ?? 0)
        }
    }

    /// How many bytes the step writes, if it leaves this property.
    func writtenByteCount(_ property: Property?) -> Int {
        switch action {
        case .get, .put, .delete, .expire, .evict, .pop, .deletePrefix, .count: 0
        case .increment, .merge, .touch: unsafe property?.valueBytes.count ?? 0
        }
    }
}
