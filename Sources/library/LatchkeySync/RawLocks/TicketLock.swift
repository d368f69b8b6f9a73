public import Synchronization

/// A fair spin lock: takers draw numbers and enter in that order.
///
/// **Design.** Two counters, `next` and `serving`: the first and the second word. A thread draws a
/// number from `next` and waits until `serving` shows it; the holder adds one to `serving` when it
/// leaves. No thread can overtake another, so if the next one has no processor, all later ones wait
/// too. That is why a waiter pauses only for a short time and then yields its processor at every
/// look.
///
/// | `next` − `serving` | meaning                | who changes it                             |
/// |--------------------|------------------------|--------------------------------------------|
/// | 0                  | free                   | a taker, which adds one to `next`          |
/// | n > 0              | held, n - 1 takers wait | a taker, `next`; the holder, `serving`     |
///
/// Both wrap around. That is harmless, as long as fewer than 2^32 threads wait.
public struct TicketLock: InPlaceLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline let memory: LockMemory

    /// Makes a lock that is free.
    @inlinable public init(in memory: LockMemory) { self.memory = memory }

    /// Draws a number and waits for it.
    ///
    /// Acquiring: pairs with the releasing store of ``unlock()``.
    @inlinable public func lock() {
        let ticket = memory.first.wrappingAdd(1, ordering: .relaxed).oldValue
        if memory.second.load(ordering: .acquiring) != ticket {
            wait(for: ticket)
        }
    }

    /// Draws a number only if it is served at once.
    ///
    /// Acquiring: if no thread has drawn the number that is served, the last holder stored it.
    @inlinable public func tryLock() -> Bool {
        let ticket = memory.second.load(ordering: .acquiring)
        return memory.first.compareExchange(
            expected: ticket,
            desired: ticket &+ 1,
            ordering: .relaxed
        ).exchanged
    }

    /// Serves the next number.
    ///
    /// Only the holder stores, so the load can be relaxed.
    @inlinable public func unlock() {
        memory.second.store(memory.second.load(ordering: .relaxed) &+ 1, ordering: .releasing)
    }

    @usableFromInline func wait(for ticket: UInt32) {
        Pauses.wait { memory.second.load(ordering: .acquiring) == ticket }
    }
}

extension TicketLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.ticket

    /// The strategy in one sentence.
    public static let summary = "A fair spin lock: threads draw numbers and enter in that order."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(handsOffFairly: true, spins: true, keepsPolling: true)
    }
}

/// `ticket`: a spin lock; each thread draws a number and polls until its turn.
///
/// Re-entry spins without end.
///
/// - *Guarantees:* first come, first served.
/// - *Use when* threads are fewer than processors, sections last nanoseconds, and each thread needs
///   its share.
/// - *Not when* threads outnumber processors: the next thread often has no processor.
///
/// ```sh
/// latchkey compare --strategies ticket,spin,adaptive --threads 1,2,4,8
/// ```
public typealias TicketStrategy = RawLockStrategy<TicketLock>
