public import Synchronization

/// A fair spin lock: waiters stand in a line, and each polls a word of its own.
///
/// The queue lock of Mellor-Crummey and Scott ("Algorithms for Scalable Synchronization on
/// Shared-Memory Multiprocessors", ACM TOCS 9(1), 1991), in the form of the K42 kernel (Scott,
/// "Shared-Memory Synchronization", chapter 4): a thread's node is on its stack, and only while it
/// waits, so ``unlock()`` needs nothing from ``lock()``.
///
/// **Design.** `tail` says which thread came last, and `next` which goes next; both are in one
/// object of the lock's own.
///
/// | `tail`  | meaning                    | becomes                                              |
/// |---------|----------------------------|------------------------------------------------------|
/// | `free`  | free                       | `held`, by a taker; a node, by one that came second  |
/// | `held`  | held, no thread waits      | `free`, by the holder; a node, by a waiter           |
/// | a node  | held, this one came last   | a node, by a waiter; `held`, by the node's own       |
/// |         |                            | thread, once it holds the lock                       |
///
/// A waiter exchanges `tail` for its node, which gives it its place in the line. Then it tells the
/// thread before it: the holder through `next`, a waiter through that waiter's node. The holder
/// tells the node in `next` that it may enter. That thread copies the address of its successor into
/// `next`, or makes `tail` say that there is none, and its node ends.
///
/// A thread that has exchanged `tail` and has no processor delays all later threads, and so does
/// the next one. So a waiter pauses only for a short time and then yields its processor at every
/// look.
public final class MCSLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<MCSLock> { unsafe .unchecked() }

    @usableFromInline static var free: UInt { 0 }
    @usableFromInline static var held: UInt { 1 }
    /// In `next`: there is no next thread, or it has not told its address yet.
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

    /// Releases the lock, or lets the next thread in.
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
        // SAFETY: when this thread has the lock, and knows its successor, no thread uses the node
        // any more.
        unsafe withUnsafePointer(to: Node()) { node in
            let own = UInt(bitPattern: node)
            // Releasing: the next thread finds a whole node. Acquiring: so does this thread, and as
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

    /// The calling thread has the lock, and its node ends: its successor moves into `next`.
    private func leave(_ node: borrowing Node, _ own: UInt) {
        if node.next.load(ordering: .relaxed) == Self.unknown {
            next.store(Self.unknown, ordering: .relaxed)
            // Releasing: a thread that finds `held` writes `next` after this thread did.
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

    /// Waits until the next thread has told its address.
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
    /// The address of the next node.
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

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(handsOffFairly: true, spins: true, keepsPolling: true)
    }
}

/// `mcs`: a queue lock; each waiting thread polls a word of its own.
///
/// Re-entry spins without end.
///
/// - *Guarantees:* first come, first served; only one waiter sees a hand-over.
/// - *Use when* you would use `ticket`, on many processors.
/// - *Not when* threads outnumber processors: on two processors, four threads did a seventeenth of
///   the operations of two.
///
/// ```sh
/// latchkey compare --strategies mcs,ticket,spin,adaptive --threads 1,2,4,8
/// ```
public typealias MCSStrategy = RawLockStrategy<MCSLock>
