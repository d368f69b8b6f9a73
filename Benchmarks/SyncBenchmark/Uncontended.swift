import Dispatch
import Foundation
import Glibc
import LatchkeyContention
import LatchkeyStrategies
import Synchronization

// The cost of a guarded value beyond its primitive, on one thread alone: it adds one to an integer,
// through `Synchronized.write` and with the bare primitive.

/// A value under a bare primitive.
///
/// In memory of its own, as a guarded value is.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because each counter is used by one benchmark, under the
/// primitive of the benchmark, and lives as long as the process.
@safe
final class BareCounter: @unchecked Sendable {
    private let value: UnsafeMutablePointer<Int>

    init() {
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: 0)
    }

    @inline(__always)
    func increment() {
        unsafe value.pointee &+= 1
    }
}

/// `Synchronized.write`, metered or not.
struct UncontendedWrite: StrategyVisitor {
    let operations: Int
    var level = MeteringLevel.off

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Contender {
        guard level != .off else { return submitted(ChosenStrategy()) }
        return submitted(ContentionMeter(strategy, level: level).metered(ChosenStrategy()))
    }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Contender {
        guard level != .off else { return blocking(ChosenStrategy()) }
        return blocking(ContentionMeter(strategy, level: level).metered(ChosenStrategy()))
    }

    private func submitted<ChosenStrategy: Strategy>(_ strategy: ChosenStrategy) -> Contender {
        let counter = Synchronized(0, strategy: strategy)
        return Contender(name: "Synchronized.submitWrite, \(ChosenStrategy.name)") { [operations] in
            submitting(operations) { (completion) throws(BacklogFull) in
                try counter.submitWrite({ $0 &+= 1 }, completion: completion)
            }
        }
    }

    private func blocking<ChosenStrategy: BlockingStrategy>(_ strategy: ChosenStrategy) -> Contender
    {
        let counter = Synchronized(0, strategy: strategy)
        return Contender(name: "Synchronized.write, \(ChosenStrategy.name)") { [operations] in
            nanoseconds(for: operations) {
                for _ in 0..<operations {
                    counter.write { $0 &+= 1 }
                }
            }
        }
    }
}

/// The cost of metering for a write: `sampled`, the default, minus `off`.
func meteringAdds(_ kind: StrategyKind, operations: Int) -> Comparison {
    let operations = max(1000, operations / 20)
    func contender(_ level: MeteringLevel) -> Contender {
        let contender = kind.accept(UncontendedWrite(operations: operations, level: level))
        // The cheapest of several short runs, which is the one that other work on the machine left
        // alone: the average of a long run hides a difference of a few nanoseconds.
        return Contender(name: level.rawValue) {
            (0..<20).map { _ in contender.nanosecondsPerOperation() }.min() ?? .nan
        }
    }
    return Comparison(
        measure: "write, \(kind.rawValue), sampled − off",
        figure: .addedNanoseconds(atMost: 5),
        subject: contender(.sampled),
        reference: contender(.off)
    )
}

/// Submits `operations` increments, a thousand at a time, and waits for their completions.
func submitting(
    _ operations: Int,
    _ submit: (_ completion: @escaping @Sendable () -> Void) throws(BacklogFull) -> Void
) -> Double {
    nanoseconds(for: operations) {
        let batch = 1000
        for _ in 0..<(operations / batch) {
            let completed = DispatchGroup()
            for _ in 0..<batch {
                completed.enter()
                do throws(BacklogFull) {
                    try submit { completed.leave() }
                } catch {
                    preconditionFailure("A batch is smaller than the backlog.")
                }
            }
            completed.wait()
        }
    }
}

/// The bare primitive of a strategy, used as its documentation says; nil where there is none.
func barePrimitive(of kind: StrategyKind, operations: Int) -> Contender? {
    switch kind {
    case .serialQueue, .serialQueueAsync, .barrierQueue, .barrierQueueAsync:
        bareQueue(of: kind, operations)
    case .monitor: bareMonitor(operations)
    // The strategy adds to the primitive.
    case .recursiveLock: bareLock(Recursive<FoundationRecursiveLock>(), operations)
    case .mutex: bareMutex(operations)
    case .actor: bareActor(operations)
    default: kind.accept(BareLock(operations: operations))
    }
}

/// The lock of a strategy that is one lock and nothing else; nil for the others.
private struct BareLock: StrategyVisitor {
    let operations: Int

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Contender? {
        nil
    }

    func visitLock<Lock: NamedLock>(_ strategy: RawLockStrategy<Lock>.Type) -> Contender? {
        bareLock(Lock(), operations)
    }
}

private func bareQueue(of kind: StrategyKind, _ operations: Int) -> Contender {
    let counter = BareCounter()
    guard kind.traits.allowsConcurrentReaders else {
        let queue = DispatchQueue(label: "benchmark", target: .global())
        return bare("DispatchQueue.sync", operations) {
            for _ in 0..<operations {
                queue.sync { counter.increment() }
            }
        }
    }
    let queue = DispatchQueue(label: "benchmark", attributes: .concurrent, target: .global())
    return bare("DispatchQueue.sync(flags: .barrier)", operations) {
        for _ in 0..<operations {
            queue.sync(flags: .barrier) { counter.increment() }
        }
    }
}

/// A recursive lock that is never entered again.
private struct Recursive<Base: RecursiveLock>: RawLock {
    static var rawLockPromise: Promise<Self> { unsafe .unchecked() }
    static var traits: StrategyTraits { Base.traits }
    private let base = Base()
    func lock() { base.lock() }
    func tryLock() -> Bool { base.tryLock() }
    func unlock() { base.unlock() }
}

/// A raw lock is the primitive itself: its calls are inlined.
private func bareLock<Lock: RawLock>(
    _ lock: Lock,
    _ operations: Int
) -> Contender {
    let counter = BareCounter()
    return bare("\(Lock.self)", operations) {
        for _ in 0..<operations {
            lock.lock()
            counter.increment()
            lock.unlock()
        }
    }
}

private func bareMonitor(_ operations: Int) -> Contender {
    let counter = BareCounter()
    return bare("Monitor.synchronized", operations) {
        for _ in 0..<operations {
            Monitor.synchronized(on: counter) { counter.increment() }
        }
    }
}

private func bareMutex(_ operations: Int) -> Contender {
    let mutex = BareMutex()
    return bare("Mutex.withLock", operations) {
        for _ in 0..<operations {
            mutex.value.withLock { $0 &+= 1 }
        }
    }
}

private func bareActor(_ operations: Int) -> Contender {
    let actor = BareActor()
    return Contender(name: "an actor's method in Task.immediate") {
        submitting(operations) { (completion) throws(BacklogFull) in
            Task.immediate {
                await actor.increment()
                completion()
            }
        }
    }
}

private func bare(_ name: String, _ operations: Int, _ body: @escaping () -> Void) -> Contender {
    Contender(name: name) { nanoseconds(for: operations, body) }
}

private final class BareMutex: Sendable {
    let value = Mutex(0)
}

private actor BareActor {
    private var value = 0

    func increment() {
        value &+= 1
    }
}
