/// A limit on the bytes of all properties whose names begin with a prefix.
package struct Quota: Sendable, Hashable {
    /// The maximum of quotas of a store.
    ///
    /// Each change looks for the quotas of its names.
    package static let countMax = 64
    package static let byteCountBounds = 1...1_125_899_906_842_624

    /// Bytes, as names are: two spellings that Unicode calls equivalent are two prefixes.
    package let prefix: [UInt8]
    /// The maximum length of the names and values together.
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
