package import LatchkeySettings

/// The limits of a store.
package struct StoreLimits: Sendable, Hashable {
    /// The maximum number of properties.
    package var propertyCountMax: Int
    /// The maximum length of all names and values together.
    package var byteCountMax: Int
    /// Further limits on bytes, for names with a prefix.
    package var quotas: [Quota] = []
    /// The policy at the limits of properties and bytes.
    package var eviction = EvictionPolicy.refuse
    /// The maximum depth of nested arrays and objects of a value.
    package var depthMax: Int
    /// The maximum length of a value, also after a merge patch.
    package var valueByteCountMax = 1 << 30
    /// The maximum of work units of one change: see ``ChangeWork``.
    package var changeUnitsMax = 16_000
    /// The maximum of claimed names that a pop passes before the stripes are given back.
    ///
    /// The units of the walk's begin pay for them.
    var passedCountMax = 128
    /// By the first rules, the maximum of bytes that the steps of one transaction read and write
    /// while its stripes are held.
    ///
    /// A property that a step of a prefix looks at counts 64 and its name.
    package var transactionByteCountMax = 4 << 20

    package init(
        propertyCountMax: Int = 10_000_000,
        byteCountMax: Int = 1 << 30,
        depthMax: Int = 64
    ) {
        self.propertyCountMax = propertyCountMax
        self.byteCountMax = byteCountMax
        self.depthMax = depthMax
    }
}

extension StoreLimits: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .integer(
            "max-properties",
            \.propertyCountMax,
            1...1_000_000_000,
            "The maximum number of properties. Beyond it, --eviction says what happens."
        ),
        .integer(
            "max-bytes",
            \.byteCountMax,
            1...1_125_899_906_842_624,
            unit: .bytes,
            "The maximum length of all names and values together. Beyond it, --eviction says "
                + "what happens."
        ),
        .choice(
            "eviction",
            \.eviction,
            "Whether a write without room is refused with status 507, or removes the least "
                + "recently used properties."
        ),
        quotaSetting,
        .integer(
            "max-json-depth",
            \.depthMax,
            1...InputCheck.depthMax,
            "The maximum depth of nested arrays and objects in a value."
        ),
    ]
}

/// The policy of a full store.
package enum EvictionPolicy: String, CaseIterable, Sendable {
    /// Changes that need room are refused.
    case refuse
    /// The least recently used properties are removed.
    case lru
}
