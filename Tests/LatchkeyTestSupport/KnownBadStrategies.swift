import Dispatch
public import LatchkeyStrategies
import Synchronization

// Strategies that look right and are not. They exist to show that the laws catch them.

/// Barriers on a global queue, where they are ordinary blocks.
public struct BarrierOnGlobalQueueStrategy: BlockingStrategy {
    /// The promise.
    public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The strategy's name in messages.
    public static let name = "barrier-on-global-queue"

    /// The promises of the strategy.
    public static let traits = StrategyTraits(allowsConcurrentReaders: true)

    private let queue = DispatchQueue.global()

    /// Makes a strategy for one value.
    public init() {}

    /// Runs `body` on the queue.
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        queue.sync(flags: request.mode == .write ? .barrier : []) {
            do throws(Failure) {
                outcome = .success(try body())
            } catch {
                outcome = .failure(error)
            }
        }
        switch outcome.take() {
        case .success(let result): return result
        case .failure(let error): throw error
        case nil: preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
    }

    /// Enters and stays inside.
    public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        preconditionFailure("A global queue cannot be held.")
    }
}

/// A spin lock whose test and set are two steps, with room for another thread in between.
public typealias TornSpinStrategy = RawLockStrategy<TornSpinLock>

/// Its test and its set are two steps.
public final class TornSpinLock: RawLock {
    /// The promise.
    public static var rawLockPromise: Promise<TornSpinLock> { unsafe .unchecked() }

    /// The strategy's name in messages.
    public static let name = "torn-spin"

    /// The promises of the strategy.
    public static let traits = StrategyTraits(spins: true)

    private let isHeld = Atomic<Bool>(false)

    /// Makes a strategy for one value.
    public init() {}

    /// Waits until the calling thread holds the lock.
    public func lock() {
        while !tryLock() {
            Yield.now()
        }
    }

    /// Takes the lock if that is possible at once.
    public func tryLock() -> Bool {
        if isHeld.load(ordering: .acquiring) {
            return false
        }
        Yield.now()
        isHeld.store(true, ordering: .relaxed)
        return true
    }

    /// Lets go.
    public func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
