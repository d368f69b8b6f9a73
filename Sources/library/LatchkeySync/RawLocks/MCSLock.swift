public import Synchronization

/// A fair spin lock: waiters stand in a line, and each polls a word of its own.
///
/// The queue lock of Mellor-Crummey and Scott ("Algorithms for Scalable Synchronization on
/// Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991), in the form of the K42 kernel (Scott,
/// "Shared-Memory Synchronization", chapter 4): a thread's node is on its stack, and only while it
/// waits, so ``unlock()`` needs nothing from ``lock()``.
///
/// **Design.** `tail` says who came last, and `next` who goes next; both are in one object of the
/// lock's own.
///
/// | `tail`  | meaning                    | becomes                                              |
/// |---------|----------------------------|------------------------------------------------------|
/// | `free`  | free                       | `held`, by a taker; a node, by one that came second  |
/// | `held`  | held, no thread waits      | `free`, by the holder; a node, by a waiter           |
/// | a node  | held, this one came last   | a node, by a waiter; `held`, by the node's own       |
/// |         |                            | thread, once it holds the lock                       |
///
/// A waiter exchanges `tail` for its node, which gives it its place in the line. Then it tells
/// whoever was there before: the holder through `next`, a waiter through that one's node. The
/// holder tells the node in `next` that it may enter. That thread copies who is behind it into
/// `next`, or makes `tail` say that there is none, and its node ends.
///
/// A thread that has exchanged `tail` and has no processor holds up all behind it, and so does the
/// next one. So a waiter pauses only for a short time and then yields its processor at every look.
public final class MCSLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<MCSLock> { unsafe .unchecked() }

    @usableFromInline static var free: UInt { 0 }
    @usableFromInline static var held: UInt { 1 }
    /// In `next`: there is none, or it has not told yet.
    @usableFromInline static var unknown: UInt { 0 }

    /// `free`, `held`, or the address of the last node.
    @usableFromInline let tail = Atomic<UInt>(0)
    /// The address of the node that goes next, or `unknown`: then always if the lock is free.
    @usableFromInline let next = Atomic<UInt>(0)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() {
        if !tryLock() {
            lockSlowly()
        }
    }

    /// Acquiring: pairs with the releasing exchange of ``unlock()``.
    @inlinable public func tryLock() -> Bool {
        tail.compareExchange(
            expected: Self.free,
            desired: Self.held,
            successOrdering: .acquiring,
            failureOrdering: .relaxed
        ).exchanged
    }

    /// Lets go, or lets the next thread in.
    ///
    /// The load can be relaxed, since `handOver()` looks again.
    @inlinable public func unlock() {
        let isAlone =
            next.load(ordering: .relaxed) == Self.unknown
            && tail.compareExchange(
                expected: Self.held,
                desired: Self.free,
                ordering: .releasing
            ).exchanged
        if !isAlone {
            handOver()
        }
    }

    @usableFromInline func lockSlowly() {
        // SAFETY: when this thread has the lock, and knows who is behind it, no thread uses the
        // node any more.
        unsafe withUnsafePointer(to: Node()) { node in
            let own = UInt(bitPattern: node)
            // Releasing: who comes next finds a whole node. Acquiring: so does this thread, and as
            // tryLock() does.
            let previous = tail.exchange(own, ordering: .acquiringAndReleasing)
            if previous != Self.free {
                if previous == Self.held {
                    next.store(own, ordering: .releasing)
                } else {
                    unsafe Node.at(previous).pointee.next.store(own, ordering: .releasing)
                }
                Pauses.wait { unsafe !node.pointee.isWaiting.load(ordering: .acquiring) }
            }
            unsafe leave(node.pointee, own)
        }
    }

    /// The calling thread has the lock, and its node ends: who is behind it moves into `next`.
    private func leave(_ node: borrowing Node, _ own: UInt) {
        if node.next.load(ordering: .relaxed) == Self.unknown {
            next.store(Self.unknown, ordering: .relaxed)
            // Releasing: who finds `held` writes `next` after this thread did.
            let isLast = tail.compareExchange(
                expected: own,
                desired: Self.held,
                ordering: .releasing
            ).exchanged
            if isLast { return }
        }
        next.store(Self.address(in: node.next), ordering: .relaxed)
    }

    /// Lets the next thread in.
    @usableFromInline func handOver() {
        // SAFETY: the node is there until its thread sees that it may enter.
        let node = unsafe Node.at(Self.address(in: next))
        unsafe node.pointee.isWaiting.store(false, ordering: .releasing)
    }

    /// Waits until who came next has told.
    ///
    /// Acquiring: its node is whole.
    private static func address(in place: borrowing Atomic<UInt>) -> UInt {
        var address = unknown
        Pauses.wait {
            address = place.load(ordering: .acquiring)
            return address != unknown
        }
        return address
    }
}

/// The place of a waiting thread in the line.
private struct Node: ~Copyable {
    /// The address of the node behind it.
    let next = Atomic<UInt>(0)
    let isWaiting = Atomic<Bool>(true)

    /// The node at an address, if it is there.
    @unsafe static func at(_ address: UInt) -> UnsafePointer<Node> {
        unsafe UnsafePointer<Node>(bitPattern: address).unsafelyUnwrapped
    }
}

extension MCSLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.mcs

    /// The strategy in one sentence.
    public static let summary = "A fair spin lock: waiters stand in a line, each with its own word."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(handsOffFairly: true, spins: true, keepsPolling: true)
    }
}

/// `mcs`: a queue lock; waiting threads stand in a line, and each polls a word of its own.
///
/// Entering again on the same thread spins without end.
///
/// - *Guarantees:* first come, first served. A hand-over is seen by one waiter only, however many
///   there are.
/// - *Use it when* you would use `ticket`, on many processors: there each hand-over of `ticket`
///   takes the cache line away from all waiters.
/// - *Not when* threads outnumber processors.
/// - *Trap:* that of `ticket`. On two processors, four threads did an eighteenth of what two
///   threads did.
///
/// ```sh
/// latchkey compare --strategies mcs,ticket,spin,adaptive --threads 1,2,4,8
/// ```
public typealias MCSStrategy = RawLockStrategy<MCSLock>
