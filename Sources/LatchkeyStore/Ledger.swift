internal import Glibc
public import LatchkeySync
internal import Synchronization

/// What the whole store counts across its stripes: revisions, properties, bytes.
///
/// **Design.** The stripes are guarded one by one, so the numbers that belong to all of them are
/// atomics. A revision is taken inside the guarded section of the write that it numbers: whoever
/// holds all stripes sees no revision that is taken and not yet visible. Room is reserved before a
/// write takes effect and given back if it does not, so the bounds are never exceeded, not even
/// for a moment; a write that races with a deletion for the last place may be refused.
///
/// **Order of commits.** Whoever was shown a revision sees all commits up to it, on every property.
/// Where readers wait for the writer of a stripe, that follows: a revision is taken while readers
/// of its stripe are kept out. Where they do not wait (``StrategyTraits/readsDuringWrites``), a
/// later revision of another stripe could be visible before an earlier one. There, `publication`
/// is held from taking a revision to ``published()``, so that commits become visible one after the
/// other, in the order of their revisions, and `lastRevision` is that of the last visible one. A
/// write takes its revision last, so the lock is held for the exchange of a pointer, not for the
/// copy of a stripe.
@usableFromInline
final class Ledger: Sendable {
    private let lastRevision = Atomic<Revision>(0)
    private let ordersPublication: Bool
    private let publication = AdaptiveLock()
    /// The thread that holds `publication`, or 0.
    ///
    /// Relaxed: a thread only asks whether it is the one, and only it writes its own identifier.
    private let publisher = Atomic<UInt>(0)
    private let propertyCount = Atomic<Int>(0)
    private let byteCount = Atomic<Int>(0)
    private let limits: StoreLimits

    /// - Parameters:
    ///   - limits: The bounds of the store.
    ///   - ordersPublication: Whether each commit is ended with ``published()``.
    init(limits: StoreLimits, ordersPublication: Bool = false) {
        self.limits = limits
        self.ordersPublication = ordersPublication
    }

    /// The revision of the latest commit, 0 before the first one.
    ///
    /// Acquiring: pairs with the releasing stores of ``nextRevision()`` and ``published()``, so
    /// that who is shown a revision finds its stripe taken, or its commit visible. The other
    /// numbers order nothing and are relaxed.
    var revision: Revision { lastRevision.load(ordering: .acquiring) }

    var usage: StoreUsage {
        StoreUsage(
            revision: revision,
            propertyCount: propertyCount.load(ordering: .relaxed),
            byteCount: byteCount.load(ordering: .relaxed)
        )
    }

    /// Takes the next revision.
    ///
    /// Called inside the guarded section only, at most once in each, and after all that takes time.
    func nextRevision() -> Revision {
        guard ordersPublication else {
            return lastRevision.add(1, ordering: .acquiringAndReleasing).newValue
        }
        publication.lock()
        publisher.store(UInt(pthread_self()), ordering: .relaxed)
        return lastRevision.load(ordering: .relaxed) + 1
    }

    /// Says that readers see what the calling thread has written.
    ///
    /// Called on the thread of the write, which may have taken no revision.
    @usableFromInline
    func published() {
        guard publisher.load(ordering: .relaxed) == UInt(pthread_self()) else {
            return
        }
        publisher.store(0, ordering: .relaxed)
        lastRevision.store(lastRevision.load(ordering: .relaxed) + 1, ordering: .releasing)
        publication.unlock()
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

/// Ends the publication of a commit when its write leaves the guarded section.
///
/// Readers see it by then. Another observer is told of everything.
@usableFromInline
struct PublicationObserver<Base: EntryObserver>: EntryObserver {
    @usableFromInline static var isActive: Bool { Base.isActive }

    @usableFromInline let base: Base
    @usableFromInline let ledger: Ledger

    @inlinable
    init(_ base: Base, _ ledger: Ledger) {
        self.base = base
        self.ledger = ledger
    }

    @inlinable func asks(_ mode: AccessMode) -> Base.Entry { base.asks(mode) }
    @inlinable func isBlocked(_ entry: inout Base.Entry) { base.isBlocked(&entry) }
    @inlinable func enters(_ entry: inout Base.Entry) { base.enters(&entry) }

    @inlinable
    func leaves(_ entry: Base.Entry) {
        ledger.published()
        base.leaves(entry)
    }
}
