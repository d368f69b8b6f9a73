package import LatchkeySettings

/// The bounds of a store.
package struct StoreLimits: Sendable, Hashable {
    /// How many properties there can be.
    package var propertyCountMax: Int
    /// How long all names and values can be together.
    package var byteCountMax: Int
    /// Further bounds on bytes, of names with a prefix.
    package var quotas: [Quota] = []
    /// What happens at the bounds of properties and bytes.
    package var eviction = EvictionPolicy.refuse
    /// How deep arrays and objects of a value can nest.
    package var depthMax: Int
    /// How long a value can become by a merge patch.
    package var valueByteCountMax = 1 << 30
    /// How many units of work one change can be: see ``ChangeWork``.
    package var changeUnitsMax = 16_000
    /// How many names that are claimed a pop passes before the stripes are given back.
    ///
    /// The units of its begin pay for them.
    var passedCountMax = 128
    /// By the first rules, how many bytes the steps of one transaction read and write while its
    /// stripes are held.
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
            "The maximum number of properties. At the bound --eviction says what happens."
        ),
        .integer(
            "max-bytes",
            \.byteCountMax,
            1...1_125_899_906_842_624,
            unit: .bytes,
            "The maximum length of all names and values together. At the bound --eviction says "
                + "what happens."
        ),
        .choice(
            "eviction",
            \.eviction,
            "What happens to a write without room: it is refused with status 507, or the least "
                + "recently used properties are removed."
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

/// What a store does when it is full.
package enum EvictionPolicy: String, CaseIterable, Sendable {
    /// Changes that need room are refused.
    case refuse
    /// The properties that were not used for the longest time are removed.
    case lru
}
