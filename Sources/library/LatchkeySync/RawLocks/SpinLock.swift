internal import CLatchkeySystem
public import Synchronization

/// A spin lock: test and test-and-set on one word, with a pause, and a yield after a limit.
///
/// **Design.** A waiter reads the word until it looks free and only then writes to it, so that
/// waiting does not take the cache line away from the holder. After some looks (``Pauses``) it
/// gives its time slice to another: with more threads than processors, the holder may be one of
/// those that wait for a processor. It never sleeps, and no thread is queued or preferred.
///
/// | word    | meaning                | who changes it                      |
/// |---------|------------------------|-------------------------------------|
/// | `free`  | free                   | a taker, to `held`, by an exchange  |
/// | `held`  | held                   | the holder, to `free`, by a store   |
public struct SpinLock: InPlaceLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    @usableFromInline static var free: UInt32 { 0 }
    @usableFromInline static var held: UInt32 { 1 }

    @usableFromInline let memory: LockMemory

    /// Makes a lock that is free.
    @inlinable public init(in memory: LockMemory) { self.memory = memory }

    /// Waits until the calling thread holds the lock.
    @inlinable public func lock() {
        if !tryLock() {
            lockSlowly()
        }
    }

    /// Acquiring: pairs with the releasing store of ``unlock()``.
    @inlinable public func tryLock() -> Bool {
        memory.first.exchange(Self.held, ordering: .acquiring) == Self.free
    }

    /// Releases the lock.
    @inlinable public func unlock() {
        memory.first.store(Self.free, ordering: .releasing)
    }

    @usableFromInline func lockSlowly() {
        repeat {
            while !looksFree() {
                latchkey_system_yield()
            }
        } while !tryLock()
    }

    /// Looks for a while.
    private func looksFree() -> Bool {
        Pauses.pass { memory.first.load(ordering: .relaxed) == Self.free }
    }
}

extension SpinLock: TimedLock {
    /// The promise.
    @inlinable public static var timedLockPromise: Promise<Self> { unsafe .unchecked() }

    /// Looks at the clock whenever it has looked at the word for a while.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        while !tryLock() {
            while !looksFree() {
                if deadline <= .now { return false }
                latchkey_system_yield()
            }
            // Others may take the lock again and again when it looks free.
            if deadline <= .now { return tryLock() }
        }
        return true
    }
}

extension SpinLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.spin

    /// The strategy in one sentence.
    public static let summary = "An atomic word that waiters poll, yielding after a bound."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(spins: true, keepsPolling: true)
    }
}

/// `spin`: an atomic word; waiters poll it with pauses, and then call `sched_yield`.
///
/// Re-entry spins without end.
///
/// - *Guarantees:* no system call but `sched_yield`.
/// - *Use when* threads are fewer than processors, and sections last nanoseconds.
/// - *Not when* threads outnumber processors or sections are long: waiters use the processor that
///   the holder needs, and threads starve.
///
/// ```sh
/// latchkey compare --strategies spin,adaptive,serial-queue --threads 8 --section 2000 --outside 0
/// ```
public typealias SpinStrategy = RawLockStrategy<SpinLock>
