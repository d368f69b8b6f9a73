import Dispatch
public import LatchkeyStrategies
import Synchronization

// Strategies that look right and are not. They exist to show that the laws catch them.

/// Barriers on a global queue, where they are ordinary blocks.
public struct BarrierOnGlobalQueueStrategy: BlockingStrategy {
    /// How the strategy is called in messages.
    public static let name = "barrier-on-global-queue"

    /// What the strategy promises.
    public static let traits = StrategyTraits(allowsConcurrentReaders: true)

    private let queue = DispatchQueue.global()

    /// Makes a strategy for one value.
    public init() {}

    /// Reads.
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        queue.sync {
            outcome = Swift.Result { () throws(Failure) in
                try guarded.read(body)
            }
        }
        guard let outcome else {
            preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
        return try outcome.get()
    }

    /// Writes.
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        queue.sync(flags: .barrier) {
            outcome = Swift.Result { () throws(Failure) in
                try guarded.write(body)
            }
        }
        guard let outcome else {
            preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
        return try outcome.get()
    }

    /// Enters and stays inside.
    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        preconditionFailure("A global queue cannot be held.")
    }
}

/// A spin lock whose test and set are two steps, with room for another thread in between.
public struct TornSpinStrategy: LockingStrategy, TryingStrategy {
    /// How the strategy is called in messages.
    public static let name = "torn-spin"

    /// What the strategy promises.
    public static let traits = StrategyTraits(spins: true)

    /// The lock.
    public let rawLock = TornSpinLock()

    /// Makes a strategy for one value.
    public init() {}
}

/// Its test and its set are two steps.
public final class TornSpinLock: RawLock {
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
