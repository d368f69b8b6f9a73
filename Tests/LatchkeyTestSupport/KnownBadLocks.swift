import Dispatch
import Foundation
public import LatchkeyStrategies
import LatchkeySyncTesting
import Synchronization

// Locks that look right and are not, for the laws to catch. A semaphore lets any thread release.
//
// Length: each of them is short, and most differ by one line.

/// Its readers wait for a writer and do not keep writers out.
public final class PassingReadersLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<PassingReadersLock> { unsafe .unchecked() }

    private let free = DispatchSemaphore(value: 1)

    /// Readers overlap.
    public static let traits = StrategyTraits(allowsConcurrentReaders: true)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { free.wait() }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { free.wait(timeout: .now()) == .success }

    /// Releases the lock.
    public func unlock() { free.signal() }

    /// Waits until the lock is free, and leaves it free.
    public func lockShared() {
        lock()
        unlock()
    }

    /// Leaves the lock free.
    public func tryLockShared() -> Bool {
        let isFree = tryLock()
        if isFree {
            unlock()
        }
        return isFree
    }

    /// Does nothing.
    public func unlockShared() {}
}

/// Its try always succeeds.
public final class YesLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<YesLock> { unsafe .unchecked() }

    /// Promises nothing special.
    public static var traits: StrategyTraits { StrategyTraits() }

    private let free = DispatchSemaphore(value: 1)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { free.wait() }

    /// True, even while the lock is held.
    public func tryLock() -> Bool { true }

    /// Releases the lock.
    public func unlock() { free.signal() }
}

/// Waiters of a lock that others overtake.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `own` is held.
private final class UnfairLine: @unchecked Sendable {
    private let own = DispatchSemaphore(value: 1)
    private var isHeld = false
    private var waiting: [DispatchSemaphore] = []

    func enter(overtaking: Bool) {
        own.wait()
        guard isHeld else {
            isHeld = true
            own.signal()
            return
        }
        let turn = DispatchSemaphore(value: 0)
        waiting.insert(turn, at: overtaking ? 0 : waiting.count)
        own.signal()
        turn.wait()
    }

    func tryEnter() -> Bool {
        own.wait()
        defer { own.signal() }
        let isFree = !isHeld
        isHeld = true
        return isFree
    }

    func leave() {
        own.wait()
        if waiting.isEmpty {
            isHeld = false
        } else {
            waiting.removeFirst().signal()
        }
        own.signal()
    }
}

/// Lets in the thread that came last.
public final class LastComeLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<LastComeLock> { unsafe .unchecked() }

    private let line = UnfairLine()

    /// Promises what it does not do.
    public static let traits = StrategyTraits(handsOffFairly: true)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { line.enter(overtaking: true) }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { line.tryEnter() }

    /// Releases the lock.
    public func unlock() { line.leave() }
}

/// Lets readers in before writers that came first.
public final class ReadersFirstLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<ReadersFirstLock> { unsafe .unchecked() }

    private let line = UnfairLine()

    /// Promises what it does not do.
    public static let traits = StrategyTraits(handsOffFairly: true)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { line.enter(overtaking: false) }

    /// Waits until the lock is free, before all that wait.
    public func lockShared() { line.enter(overtaking: true) }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { line.tryEnter() }

    /// Releases the lock.
    public func unlock() { line.leave() }
}

/// Becomes a lock when it is first waited for: before that, a try fails, and two threads that come
/// at once are both the first.
public final class LateLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<LateLock> { unsafe .unchecked() }

    /// Promises nothing special.
    public static var traits: StrategyTraits { StrategyTraits() }

    private let free = DispatchSemaphore(value: 0)
    private let isMade = Atomic(false)

    /// Makes a lock that is not yet one.
    public init() {}

    /// Waits until the lock is free, or makes it.
    public func lock() {
        if isMade.load(ordering: .acquiring) {
            free.wait()
        } else {
            Yield.now()
            isMade.store(true, ordering: .releasing)
        }
    }

    /// Takes the lock if it is made and free.
    public func tryLock() -> Bool { free.wait(timeout: .now()) == .success }

    /// Releases the lock.
    public func unlock() { free.signal() }
}

/// Lets in the thread that asks at the right moment: one that has just left overtakes waiters.
public final class BargingLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<BargingLock> { unsafe .unchecked() }

    private let free = DispatchSemaphore(value: 1)

    /// Promises what it does not do.
    public static let traits = StrategyTraits(handsOffFairly: true)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free, and looks now and then.
    public func lock() {
        while !tryLock() {
            // Sleeps because somebody has to be late.
            usleep(2000)
        }
    }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { free.wait(timeout: .now()) == .success }

    /// Releases the lock.
    public func unlock() { free.signal() }
}

/// Its try waits.
public final class WaitingTryLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<WaitingTryLock> { unsafe .unchecked() }

    /// Promises nothing special.
    public static var traits: StrategyTraits { StrategyTraits() }

    private let free = DispatchSemaphore(value: 1)

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { free.wait() }

    /// Waits until the lock is free.
    public func tryLock() -> Bool {
        lock()
        return true
    }

    /// Releases the lock.
    public func unlock() { free.signal() }
}

/// Does not wait until a deadline, but gives up at once.
public final class HastyLock: TimedLock {
    /// The promise.
    public static var rawLockPromise: Promise<HastyLock> { unsafe .unchecked() }

    /// The promise.
    public static var timedLockPromise: Promise<HastyLock> { unsafe .unchecked() }

    /// Promises nothing special.
    public static var traits: StrategyTraits { StrategyTraits() }

    private let base = SpinLock()

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { base.lock() }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { base.tryLock() }

    /// Releases the lock.
    public func unlock() { base.unlock() }

    /// Does not wait.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool { tryLock() }
}

/// Waits neither for a change nor until a deadline.
public typealias CarelessConditionStrategy = RawLockStrategy<CarelessLock>

/// Lets in each thread that waits for a condition, whatever the condition says.
public final class CarelessLock: ConditionLock {
    /// The promise.
    public static var rawLockPromise: Promise<CarelessLock> { unsafe .unchecked() }

    /// The promise.
    public static var timedLockPromise: Promise<CarelessLock> { unsafe .unchecked() }

    /// The promise.
    public static var conditionLockPromise: Promise<CarelessLock> { unsafe .unchecked() }

    /// Promises nothing special.
    public static var traits: StrategyTraits { StrategyTraits() }

    /// The strategy's name in messages.
    public static let name = "careless"

    private let base = SpinLock()

    /// Makes a lock that is free.
    public init() {}

    /// Waits until the lock is free.
    public func lock() { base.lock() }

    /// Takes the lock if it is free.
    public func tryLock() -> Bool { base.tryLock() }

    /// Releases the lock.
    public func unlock() { base.unlock() }

    /// Waits beyond the deadline.
    public func lock(before deadline: ContinuousClock.Instant) -> Bool {
        lock()
        return true
    }

    /// Does not wait.
    public func wait(
        to mode: AccessMode,
        until condition: @Sendable () -> Bool,
        before deadline: ContinuousClock.Instant?
    ) -> Bool {
        true
    }

    /// Does not wait.
    nonisolated(nonsending) public func wait(
        to mode: AccessMode,
        until condition: @escaping @Sendable () -> Bool
    ) async -> Bool {
        true
    }
}

/// Applies submitted writes later, which its traits do not say.
public struct TardyStrategy: InPlaceStrategy {
    /// The promise.
    public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    public static var inPlacePromise: Promise<Self> { unsafe .unchecked() }

    /// The strategy's name in messages.
    public static let name = "tardy"

    /// Nothing beyond what every strategy promises.
    public static let traits = StrategyTraits()

    private let base = RawLockStrategy<FoundationLock>()
    private let queue = DispatchQueue(label: "tardy")

    /// Makes a strategy for one value.
    public init() {}

    /// Enters the lock.
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.access(request, observer: observer, body)
    }

    /// Keeps the lock.
    public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        unsafe base.hold(request, observer: observer)
    }

    /// Has the queue write.
    public func submit<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: @escaping @Sendable () -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        if request.mode == .read {
            completion(access(request, observer: observer, body))
        } else {
            queue.async { completion(access(request, observer: observer, body)) }
        }
    }
}

/// Its form for several values does nothing.
public struct HoldlessStrategy: InPlaceStrategy {
    /// The promise.
    public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    public static var inPlacePromise: Promise<Self> { unsafe .unchecked() }

    /// The strategy's name in messages.
    public static let name = "holdless"

    /// Nothing beyond what every strategy promises.
    public static let traits = StrategyTraits()

    private let base = RawLockStrategy<FoundationLock>()

    /// Makes a strategy for one value.
    public init() {}

    /// Enters the lock.
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try base.access(request, observer: observer, body)
    }

    /// Does not enter.
    public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        {}
    }
}
