/// A bound on the bytes of all properties whose names begin with a prefix.
package struct Quota: Sendable, Hashable {
    /// How many quotas a store can have.
    ///
    /// Each change looks for those of its names.
    package static let countMax = 64
    package static let byteCountBounds = 1...1_125_899_906_842_624

    /// Bytes, as names are: two spellings that Unicode calls equivalent are two prefixes.
    package let prefix: [UInt8]
    /// How long the names and values can be together.
    package var byteCountMax: Int

    package init(prefix: [UInt8], byteCountMax: Int) {
        self.prefix = prefix
        self.byteCountMax = byteCountMax
    }

    /// The prefix for readers.
    package var text: String { String(decoding: prefix, as: UTF8.self) }
}

/// How full a quota is, and how many changes it has refused.
package struct QuotaUsage: Sendable, Hashable {
    package let quota: Quota
    package let byteCount: Int
    package let refusalCount: UInt64
}
