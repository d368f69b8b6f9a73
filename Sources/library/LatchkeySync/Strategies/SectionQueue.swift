internal import Dispatch
internal import Synchronization

// The parts of queues, of the actor and of `snapshot` that LatchkeyGuards uses: ways in and out
// without a type parameter and, as far as possible, without a closure.

/// A guarded section that is entered by a queue or an actor.
///
/// Where it applies accesses later, each is admitted, enqueued, and dismissed when it has run.
package protocol SectionQueue: Sendable {
    /// Counts an access; false if it has to wait for another one.
    func joins(_ mode: AccessMode) -> Bool

    /// Ends the count of an access.
    func leaves(_ mode: AccessMode)

    /// The writes that were accepted and are not yet applied.
    var backlogCount: Int { get }

    /// Takes room in the backlog.
    func admit(_ mode: AccessMode) throws(BacklogFull)

    /// The same where an access must not be refused.
    func admitBeyondBound(_ mode: AccessMode)

    /// Gives the room back.
    func dismiss(_ mode: AccessMode)

    /// Runs `block` inside, later, in the order of the calls of one thread.
    func enqueue(_ mode: AccessMode, _ block: @escaping @Sendable () -> Void)

    /// Enters later, in the same order, calls `entered`, and stays inside until ``release()``.
    func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void)

    /// Leaves a section that is held.
    func release()

    /// Runs the completion of an access that has left.
    func complete(_ completion: @escaping @Sendable () -> Void)
}

/// A private dispatch queue as a section.
package struct DispatchSection: SectionQueue {
    private let queue: AccessQueue

    /// - Parameters:
    ///   - label: The name of the queue in debuggers.
    ///   - traits: Whether readers share the queue, and whether it has a backlog.
    ///   - backlogMax: The limit of the backlog.
    package init(_ label: String, _ traits: StrategyTraits, backlogMax: Int) {
        queue = AccessQueue(
            label: label,
            isConcurrent: traits.allowsConcurrentReaders,
            backlogMax: traits.appliesWritesAsynchronously ? backlogMax : nil
        )
    }

    package func joins(_ mode: AccessMode) -> Bool {
        queue.entrants.join(mode, isConcurrent: queue.isConcurrent)
    }

    package func leaves(_ mode: AccessMode) { queue.entrants.leave(mode) }

    package var backlogCount: Int { queue.submissions?.backlog.writeCount ?? 0 }

    package func admit(_ mode: AccessMode) throws(BacklogFull) {
        try queue.submissions?.backlog.enter(mode)
    }

    package func admitBeyondBound(_ mode: AccessMode) {
        queue.submissions?.backlog.enterBeyondBound(mode)
    }

    package func dismiss(_ mode: AccessMode) { queue.submissions?.backlog.leave(mode) }

    /// Runs `body` inside, on the calling thread, and waits for it.
    package func sync(_ mode: AccessMode, _ body: () -> Void) { queue.sync(mode, body) }

    package func enqueue(_ mode: AccessMode, _ block: @escaping @Sendable () -> Void) {
        queue.queue.async(flags: queue.isBarrier(mode) ? .barrier : [], execute: block)
    }

    package func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void) {
        queue.enqueueHold(mode, entered)
    }

    /// Enters, waiting for that, and stays inside until ``release()``.
    package func hold(_ mode: AccessMode) { queue.hold(mode) }

    package func release() { queue.release() }

    package func complete(_ completion: @escaping @Sendable () -> Void) {
        queue.submissions?.completions.async(execute: completion)
    }
}

/// An actor as a section.
@available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
package struct ActorSection: SectionQueue {
    private let queue: ActorQueue
    private let completions = Completions.queue()

    package init(backlogMax: Int) { queue = ActorQueue(backlogMax: backlogMax) }

    /// Asked after the access was admitted, which counts it.
    package func joins(_ mode: AccessMode) -> Bool {
        queue.isolation.backlog.word.load(ordering: .relaxed) == Backlog.one(mode)
    }

    package func leaves(_ mode: AccessMode) {}

    package var backlogCount: Int { queue.isolation.backlog.writeCount }

    package func admit(_ mode: AccessMode) throws(BacklogFull) {
        try queue.isolation.backlog.enter(mode)
    }

    package func admitBeyondBound(_ mode: AccessMode) {
        queue.isolation.backlog.enterBeyondBound(mode)
    }

    package func dismiss(_ mode: AccessMode) { queue.isolation.backlog.leave(mode) }

    package func enqueue(_ mode: AccessMode, _ block: @escaping @Sendable () -> Void) {
        let isolation = queue.isolation
        Task.immediate(priority: .medium) { await isolation.run(block) }
    }

    package func enqueueHold(_ mode: AccessMode, _ entered: @escaping @Sendable () -> Void) {
        queue.enqueueHold(mode, entered)
    }

    package func release() { queue.release() }

    /// Not on a thread of Swift's pool.
    ///
    /// A completion may wait for a guard. A switch keeps the guard until the actor has applied what
    /// it has accepted, and the actor needs such a thread.
    package func complete(_ completion: @escaping @Sendable () -> Void) {
        completions.async(execute: completion)
    }
}

/// The order in which several sections are entered in one step: the same for all sections that two
/// accesses share, so that neither waits for the other.
package enum SectionOrder {
    package static func inOneStep(_ enter: () -> Void) {
        SeveralOrder.lock.lock()
        enter()
        SeveralOrder.lock.unlock()
    }
}

extension SnapshotStrategy {
    /// Keeps other writers out, if that is possible at once.
    package func tryHoldWriters() -> Bool { writers.rawLock.tryLock() }

    /// Keeps other writers out.
    package func holdWriters() { writers.rawLock.lock() }

    /// Lets writers in, and frees the version that was replaced meanwhile.
    package func releaseWriters() {
        let replaced = published.takeReplaced()
        writers.rawLock.unlock()
        discard(replaced)
    }

    /// Enters to read, until ``leaveReaders(_:)``.
    @inlinable package func enterReaders() -> Reading { published.epochs.enter() }

    /// Leaves, and frees the versions that waited for that.
    @inlinable package func leaveReaders(_ reading: Reading) { published.epochs.leave(reading) }

    /// The version that a reader inside finds; nil before ``begin(_:)`` and after ``retire()``.
    ///
    /// Sequentially consistent: R3 in ``Epochs``. It also acquires what the writer stored.
    package var version: PublishedVersion? {
        unsafe published.address.load(ordering: .sequentiallyConsistent)
            .map { unsafe PublishedVersion(address: $0) }
    }

    /// Lets readers find no version any more; the last one is freed when its readers have left, and
    /// the writers' lock is released.
    ///
    /// The caller keeps writers out. ``begin(_:)`` publishes again.
    package func retire() { published.retire() }
}

/// A version of a value that a reader has found.
///
/// SAFETY: `@safe` because its owner is inside, so that it is not freed, and asks for the type that
/// was published.
@safe
@usableFromInline package struct PublishedVersion {
    @usableFromInline let address: UnsafeMutableRawPointer

    /// Lends the value.
    @unsafe @inlinable package func read<Value, Result>(
        _ body: (borrowing LentValue<Value>) -> Result
    ) -> Result {
        unsafe body(address.assumingMemoryBound(to: LentValue<Value>.self).pointee)
    }
}
