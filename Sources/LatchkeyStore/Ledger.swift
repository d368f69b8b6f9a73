internal import Synchronization

/// What the whole store counts across its stripes: revisions, properties, bytes.
///
/// **Design.** The stripes are guarded one by one, so the numbers that belong to all of them are
/// atomics. A revision is taken inside the guarded section of the write that it numbers: whoever
/// holds all stripes sees no revision that is taken and not yet visible. Room is reserved before a
/// write takes effect and given back if it does not, so the bounds are never exceeded, not even
/// for a moment; a write that races with a deletion for the last place may be refused.
@usableFromInline
final class Ledger: Sendable {
    private let lastRevision = Atomic<Revision>(0)
    private let propertyCount = Atomic<Int>(0)
    private let byteCount = Atomic<Int>(0)
    private let limits: StoreLimits

    init(limits: StoreLimits) {
        self.limits = limits
    }

    /// The revision of the latest commit, 0 before the first one.
    ///
    /// Relaxed here and below: the numbers order nothing. What a revision's number promises about
    /// a property's visibility comes from the strategy.
    var revision: Revision { lastRevision.load(ordering: .relaxed) }

    var usage: StoreUsage {
        StoreUsage(
            revision: revision,
            propertyCount: propertyCount.load(ordering: .relaxed),
            byteCount: byteCount.load(ordering: .relaxed)
        )
    }

    /// Takes the next revision.
    ///
    /// Called inside the guarded section only.
    func nextRevision() -> Revision {
        lastRevision.add(1, ordering: .relaxed).newValue
    }

    /// Makes room for a change, or says which bound it would break.
    ///
    /// A change that makes the store smaller always succeeds.
    func reserve(properties: Int, bytes: Int) throws(StoreFull) {
        if properties != 0 {
            let count = propertyCount.add(properties, ordering: .relaxed).newValue
            if properties > 0, count > limits.propertyCountMax {
                propertyCount.subtract(properties, ordering: .relaxed)
                throw .properties
            }
        }
        if bytes != 0 {
            let count = byteCount.add(bytes, ordering: .relaxed).newValue
            if bytes > 0, count > limits.byteCountMax {
                byteCount.subtract(bytes, ordering: .relaxed)
                propertyCount.subtract(properties, ordering: .relaxed)
                throw .bytes
            }
        }
    }
}

/// The bounds of a store.
package struct StoreLimits: Sendable, Hashable {
    /// How many properties there can be.
    package var propertyCountMax: Int
    /// How long all names and values can be together.
    package var byteCountMax: Int
    /// How deep arrays and objects of a value can nest.
    package var depthMax: Int

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

/// Which bound a write would break.
@usableFromInline
package enum StoreFull: Error, Hashable {
    case properties
    case bytes
}

/// How full a store is, and its latest revision.
///
/// The numbers are read one after the other, while writes may go on.
package struct StoreUsage: Sendable, Hashable {
    package let revision: Revision
    package let propertyCount: Int
    package let byteCount: Int
}
