import Dispatch
public import LatchkeySync
import Synchronization

// Strategies that look right and are not. They exist to show that the laws catch them.

/// Barriers on a global queue, where they are ordinary blocks.
public struct BarrierOnGlobalQueueStrategy: BlockingStrategy {
    public static let name = "barrier-on-global-queue"
    public static let traits = StrategyTraits(allowsConcurrentReaders: true)

    private let queue = DispatchQueue.global()

    public init() {}

    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        queue.sync {
            outcome = Swift.Result { () throws(Failure) in
                try cell.read(body)
            }
        }
        guard let outcome else {
            preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
        return try outcome.get()
    }

    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ cell: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var outcome: Swift.Result<Result, Failure>?
        queue.sync(flags: .barrier) {
            outcome = Swift.Result { () throws(Failure) in
                try cell.write(body)
            }
        }
        guard let outcome else {
            preconditionFailure("DispatchQueue.sync returned before its body ran.")
        }
        return try outcome.get()
    }

    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        preconditionFailure("A global queue cannot be held.")
    }
}

/// A spin lock whose test and set are two steps, with room for another thread in between.
public struct TornSpinStrategy: LockingStrategy, TryingStrategy {
    public static let name = "torn-spin"
    public static let traits = StrategyTraits(spins: true)

    public let rawLock = TornSpinLock()

    public init() {}
}

public final class TornSpinLock: RawLock {
    private let isHeld = Atomic<Bool>(false)

    public init() {}

    public func lock() {
        while !tryLock() {
            Yield.now()
        }
    }

    public func tryLock() -> Bool {
        if isHeld.load(ordering: .acquiring) {
            return false
        }
        Yield.now()
        isHeld.store(true, ordering: .relaxed)
        return true
    }

    public func unlock() {
        isHeld.store(false, ordering: .releasing)
    }
}
