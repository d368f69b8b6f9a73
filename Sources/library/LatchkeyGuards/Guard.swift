internal import LatchkeyContention
internal import LatchkeyStrategies
internal import Synchronization

/// The guarded section of a stripe under one strategy.
///
/// **Design.** A class without type parameters, so that all that uses guards is compiled once. All
/// locks and the writers of `snapshot` are entered by a call: ``tryEnter(_:)``, ``enter(_:)`` and
/// ``leave(_:)``. A dispatch queue and the readers of `snapshot` run a body instead
/// (``run(_:isBlocked:_:)``). A guard that applies accesses later has a ``SectionQueue``.
///
/// A guard knows neither the value nor the meter. Its lock has memory of its own: the words of a
/// value are those of one lock.
///
/// SAFETY: `@safe` and `@unchecked Sendable` because the class and its subclasses, which are final,
/// have constants and atomics only, and the probe lives as long as its guard.
@safe
@usableFromInline class Guard: @unchecked Sendable {
    let kind: StrategyKind
    let traits: StrategyTraits
    /// Writes to the strategy's meter; nil if nothing is measured.
    let probe: ContentionProbe?
    /// The same for callers that must not count references: a listing asks many guards.
    private let probeReference: Unmanaged<ContentionProbe>?
    /// The accesses that are about to be accepted to be applied later.
    ///
    /// A switch waits until there is none. Sequentially consistent: a caller counts itself before
    /// it loads the index of its stripe, and a switch stores the index before it loads the count.
    let askers = Atomic<Int>(0)

    init(_ kind: StrategyKind, _ probe: ContentionProbe?) {
        self.kind = kind
        self.probe = probe
        unsafe probeReference = probe.map { unsafe .passUnretained($0) }
        traits = kind.traits
    }

    /// Calls `body` with the probe, if there is one.
    @inline(__always)
    func withProbe<Result>(_ body: (ContentionProbe) -> Result) -> Result? {
        guard let probe = unsafe probeReference else { return nil }
        return unsafe probe._withUnsafeGuaranteedRef(body)
    }

    /// Whether an access is entered by ``enter(_:)``, on the thread that asks.
    func isCalled(_ mode: AccessMode) -> Bool { true }

    func tryEnter(_ mode: AccessMode) -> Bool { preconditionFailure("Every guard has its own.") }
    func enter(_ mode: AccessMode) { preconditionFailure("Every guard has its own.") }
    func leave(_ mode: AccessMode) { preconditionFailure("Every guard has its own.") }

    /// Runs `body` inside, where an access is not entered by a call.
    ///
    /// - Parameters:
    ///   - mode: The mode.
    ///   - isBlocked: Called if that is not possible at once.
    ///   - body: Runs inside.
    func run(_ mode: AccessMode, isBlocked: () -> Void, _ body: () -> Void) {
        preconditionFailure("Only some guards run a body.")
    }

    /// Applies accesses of some mode later; nil for all others.
    var queue: (any SectionQueue)? { nil }

    /// Where the value is; nil if it is in its place.
    var snapshot: SnapshotStrategy? { nil }

    /// Whether an access is applied later, on another thread.
    func appliesLater(_ mode: AccessMode) -> Bool {
        mode == .write ? traits.appliesWritesAsynchronously : !traits.blocksCaller
    }

    /// Enters until ``release(_:)`` if that is possible at once; no write takes effect meanwhile.
    func tryHold(_ mode: AccessMode) -> Bool { tryEnter(mode) }

    /// Enters until ``release(_:)``, after ``tryHold(_:)`` was false.
    func hold(_ mode: AccessMode) { enter(mode) }

    func release(_ mode: AccessMode) { leave(mode) }
}

/// A raw lock.
///
/// SAFETY: `@unchecked Sendable` as ``Guard``.
final class LockGuard<Lock: RawLock>: Guard, @unchecked Sendable {
    private let lock = Lock()

    override func tryEnter(_ mode: AccessMode) -> Bool {
        guard traits.tellsOfWaiting else {
            enter(mode)
            return true
        }
        return mode == .read ? lock.tryLockShared() : lock.tryLock()
    }

    override func enter(_ mode: AccessMode) { mode == .read ? lock.lockShared() : lock.lock() }

    override func leave(_ mode: AccessMode) { mode == .read ? lock.unlockShared() : lock.unlock() }
}

/// The readers' epochs and the writers' lock of `snapshot`.
///
/// SAFETY: `@unchecked Sendable` as ``Guard``.
final class SnapshotGuard: Guard, @unchecked Sendable {
    let strategy = SnapshotStrategy()

    override var snapshot: SnapshotStrategy? { strategy }

    override func isCalled(_ mode: AccessMode) -> Bool { mode == .write }

    override func tryEnter(_ mode: AccessMode) -> Bool { strategy.tryHoldWriters() }

    override func enter(_ mode: AccessMode) { strategy.holdWriters() }

    override func leave(_ mode: AccessMode) { strategy.releaseWriters() }

    override func run(_ mode: AccessMode, isBlocked: () -> Void, _ body: () -> Void) {
        strategy.access(AccessRequest(.read), observer: NoObserver(), body)
    }
}

/// A dispatch queue.
///
/// SAFETY: `@unchecked Sendable` as ``Guard``.
final class QueueGuard: Guard, @unchecked Sendable {
    private let section: DispatchSection

    init(_ kind: StrategyKind, _ probe: ContentionProbe?, backlogMax: Int) {
        section = DispatchSection(kind.rawValue, kind.traits, backlogMax: backlogMax)
        super.init(kind, probe)
    }

    override var queue: (any SectionQueue)? {
        traits.appliesWritesAsynchronously ? section : nil
    }

    override func isCalled(_ mode: AccessMode) -> Bool { false }

    override func run(_ mode: AccessMode, isBlocked: () -> Void, _ body: () -> Void) {
        guard probe != nil else { return section.sync(mode, body) }
        if !section.joins(mode) { isBlocked() }
        section.sync(mode) {
            body()
            // Inside: the next access finds the queue empty.
            section.leaves(mode)
        }
    }

    override func tryHold(_ mode: AccessMode) -> Bool {
        guard section.joins(mode) else { return false }
        section.hold(mode)
        return true
    }

    override func hold(_ mode: AccessMode) { section.hold(mode) }

    override func release(_ mode: AccessMode) {
        section.leaves(mode)
        section.release()
    }
}

/// An actor.
///
/// SAFETY: `@unchecked Sendable` as ``Guard``.
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
final class ActorGuard: Guard, @unchecked Sendable {
    private let section: ActorSection

    init(_ probe: ContentionProbe?, backlogMax: Int) {
        section = ActorSection(backlogMax: backlogMax)
        super.init(.actor, probe)
    }

    override var queue: (any SectionQueue)? { section }

    override func isCalled(_ mode: AccessMode) -> Bool { false }
}

/// Makes the guard of a strategy: the one place that knows all their types.
struct GuardMaker: StrategyVisitor {
    let kind: StrategyKind
    let probe: ContentionProbe?
    let backlogMax: Int

    func visit<Chosen: MakeableStrategy>(_ strategy: Chosen.Type) -> Guard {
        guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
            preconditionFailure("'actor' needs immediate tasks, which came with macOS 26.")
        }
        return ActorGuard(probe, backlogMax: backlogMax)
    }

    func visitBlocking<Chosen: MakeableStrategy & BlockingStrategy>(
        _ strategy: Chosen.Type
    ) -> Guard {
        Chosen.traits.readsDuringWrites
            ? SnapshotGuard(kind, probe) : QueueGuard(kind, probe, backlogMax: backlogMax)
    }

    func visitLock<Lock: NamedLock>(_ strategy: RawLockStrategy<Lock>.Type) -> Guard {
        LockGuard<Lock>(kind, probe)
    }
}
