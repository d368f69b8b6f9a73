import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

extension StoreLimits {
    /// Large limits, and these quotas.
    static func quotas(_ bounds: KeyValuePairs<String, Int>) -> StoreLimits {
        var limits = StoreLimits()
        limits.quotas = bounds.map { Quota(prefix: Array($0.utf8), byteCountMax: $1) }
        return limits
    }
}

extension [QuotaUsage] {
    /// The bytes that are used, by prefix.
    var byteCounts: [String: Int] {
        Dictionary(uniqueKeysWithValues: map { ($0.quota.text, $0.byteCount) })
    }

    var refusalCounts: [String: UInt64] {
        Dictionary(uniqueKeysWithValues: map { ($0.quota.text, $0.refusalCount) })
    }

    /// The bytes that the properties of a list take of each quota, without any table.
    func recomputed(from properties: [Property]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for usage in self {
            let prefix = usage.quota.prefix
            counts[usage.quota.text] = properties.reduce(0) { sum, property in
                let isMatch = unsafe property.nameBytes.starts(with: prefix)
                return sum + (isMatch ? property.byteCount : 0)
            }
        }
        return counts
    }
}

extension Decision {
    /// The prefix of the quota that refused the change; nil if none did.
    var refusingPrefix: String? {
        if case .failure(.full(.quota(let quota))) = self { quota.text } else { nil }
    }

    var refusal: Refusal? {
        if case .failure(let refusal) = self { refusal } else { nil }
    }

    var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}

extension BlockingStore {
    func put(_ name: String, _ byteCount: Int) -> Decision {
        commit(Change(.put(name, String(repeating: "1", count: byteCount))))
    }
}
