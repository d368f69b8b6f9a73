public import LatchkeySync
internal import Synchronization

/// A lock that is replaced by another one while threads use it.
///
/// ```swift
/// let scores = Synchronized<[String: Int], SwitchableStrategy>([:])
/// scores.write { $0["ada"] = 1 }
/// scores.switch(to: .ticket)
/// ```
///
/// It has the access functions of a lock that is not recursive: no deadlines, no conditions.
/// Readers exclude each other. Each access makes two dynamic calls, and checks twice which lock
/// serves.
///
/// - *Guarantees:* no two are inside, no write is lost, and each thread's writes keep their order,
///   also while it is switched. A waiting thread begins again at the end of the new line.
/// - *Use it when* a program that runs finds out which lock it should have.
/// - *Not when* the lock is known at the start: then its own strategy costs half.
/// - *Trap:* a switch waits until no access is inside. So it hangs inside an access of the same
///   thread.
public typealias SwitchableStrategy = RawLockStrategy<SwitchableLock>

extension Synchronized where Value: ~Copyable, ChosenStrategy == SwitchableStrategy {
    /// The strategy whose lock serves.
    public var kind: StrategyKind { strategy.rawLock.kind }

    /// Has the lock of another strategy serve, and waits until no access is inside.
    ///
    /// - Parameter kind: One of ``SwitchableLock/kinds``; others stop the program.
    public func `switch`(to kind: StrategyKind) { strategy.rawLock.switch(to: kind) }
}

/// The lock of ``SwitchableStrategy``.
///
/// **Design.** `serving` is the number of the lock that serves. A thread that has taken a lock
/// looks again: if another one serves by then, it releases the lock and begins again. A switch
/// holds the lock that serves while it stores another number. So the number does not change while a
/// thread is inside. All locks are made at the start: a thread that has loaded an old number finds
/// its lock.
public final class SwitchableLock: RawLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<SwitchableLock> { unsafe .unchecked() }

    /// The name of the lock in messages.
    public static let name = "switchable"

    /// The lock in one sentence.
    public static let summary = "A lock that is replaced by another one while it is used."

    /// The promises that all of the locks share.
    public static let traits = StrategyTraits()

    /// The strategies whose locks can serve: those that are one lock, which is not recursive.
    public static let kinds = StrategyKind.allCases.filter { $0.accept(LockMaker()) != nil }

    private let locks = kinds.compactMap { $0.accept(LockMaker()) }
    private let serving: Atomic<Int>

    /// A lock that is free; `lock` serves.
    public init() { serving = Atomic(Self.kinds.firstIndex(of: .lock) ?? 0) }

    // Acquiring, and releasing in `switch`: a thread that finds the number of the lock it holds
    // sees all that was done under the lock before.

    var kind: StrategyKind { Self.kinds[serving.load(ordering: .acquiring)] }

    /// Takes the lock that serves.
    public func lock() {
        while true {
            let number = serving.load(ordering: .acquiring)
            locks[number].lock()
            if serving.load(ordering: .acquiring) == number { return }
            locks[number].unlock()
        }
    }

    /// Takes the lock that serves, if that is possible at once.
    public func tryLock() -> Bool {
        while true {
            let number = serving.load(ordering: .acquiring)
            guard locks[number].tryLock() else { return false }
            if serving.load(ordering: .acquiring) == number { return true }
            locks[number].unlock()
        }
    }

    /// Releases the lock that serves, which the calling thread holds.
    public func unlock() { locks[serving.load(ordering: .relaxed)].unlock() }

    func `switch`(to kind: StrategyKind) {
        guard let new = Self.kinds.firstIndex(of: kind) else {
            preconditionFailure("'\(kind.rawValue)' is not one of SwitchableLock.kinds.")
        }
        lock()
        let old = serving.exchange(new, ordering: .acquiringAndReleasing)
        locks[old].unlock()
    }
}

private struct LockMaker: StrategyVisitor {
    func visit<Chosen: MakeableStrategy>(_ strategy: Chosen.Type) -> (any RawLock)? { nil }

    func visitLock<Lock: NamedLock>(_ strategy: RawLockStrategy<Lock>.Type) -> (any RawLock)? {
        Lock.traits.isReentrant ? nil : Lock()
    }
}
