#if os(Linux)
internal import CLatchkeySystem
internal import Synchronization

/// The threads and tasks that wait until a value fulfils a condition of theirs.
///
/// **Design.** The value's lock is held whenever the line is asked or joined. The line has a lock
/// of its own besides, because a thread leaves it at its deadline without the value's lock. It is
/// held while conditions are asked: a thread that leaves waits until its condition is not being
/// asked.
///
/// Waiters that need the same executor to go on form a ``ConditionGroup``. A chosen thread comes; a
/// chosen task comes when its executor is free, and a thread in this line may have to go on before
/// that. So a group waits only for its own members.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `lock` is held.
@usableFromInline final class ConditionLine: @unchecked Sendable {
    let lock = AdaptiveLock()
    /// Empty ones are removed when one is added.
    private var groups: [ConditionGroup] = []

    /// Whether a thread that releases the lock after a write has to choose.
    var isToBeAsked: Bool { groups.contains { $0.isToBeAsked } }

    /// Lets a thread wait; one that was chosen before keeps its place as the first of its group.
    func append(_ waiter: ConditionWaiter) {
        group(of: waiter).append(waiter)
        waiter.isWoken.store(0, ordering: .relaxed)
    }

    private func group(of waiter: ConditionWaiter) -> ConditionGroup {
        if let group = groups.first(where: { $0.place == waiter.place }) { return group }
        groups.removeAll(where: \.isEmpty)
        let group = ConditionGroup(waiter.place)
        groups.append(group)
        return group
    }

    /// Takes out the waiters whose condition holds: of each group readers, and at most one writer.
    func choose() -> [ConditionWaiter] {
        var chosen: [ConditionWaiter] = []
        for group in groups where group.isToBeAsked {
            group.choose(into: &chosen)
        }
        return chosen
    }

    /// Ends the wait of a thread; true if it had been chosen.
    @discardableResult func remove(_ waiter: ConditionWaiter) -> Bool {
        waiter.group?.remove(waiter)
        return waiter.wasChosen
    }

    /// Ends the wait of a thread that does not hold the value's lock.
    func abandon(_ waiter: ConditionWaiter) {
        lock.lock()
        let group = waiter.group
        let successor = remove(waiter) ? group?.chooseFirst() : nil
        lock.unlock()
        successor?.wake()
    }
}

/// Waiters in a ``ConditionLine`` that need the same executor to go on, in the order of arrival.
///
/// **Design.** No wake-up is lost, because of one rule: while the value's lock is free, either no
/// condition in the group holds, or a chosen one of it is on its way. A waiter is counted from the
/// moment it is chosen. It can end in two ways, and neither breaks the rule:
///
/// - It gets the lock. When it releases the lock, it chooses the next one, also if its own
///   condition did not hold any more.
/// - It gives up without the lock, as a task does that is cancelled. Then it cannot ask, and makes
///   the first one in the group its successor unasked. That one asks when it gets the lock.
///
/// While a chosen thread is on its way, no other thread is asked. A chosen task can need longer, on
/// an actor that is busy, so that the next write chooses another one.
final class ConditionGroup {
    /// The executor that the tasks need; nil for threads.
    let place: TaskPlace?
    private var waiters = LinkedList<ConditionWaiter>()
    /// Waiters that were chosen and have not had the value's lock since.
    private var chosenCount = 0

    init(_ place: TaskPlace?) {
        self.place = place
    }

    var isEmpty: Bool { waiters.first == nil && chosenCount == 0 }

    var isToBeAsked: Bool { waiters.first != nil && (chosenCount == 0 || place != nil) }

    func append(_ waiter: ConditionWaiter) {
        if waiter.wasChosen {
            waiters.prepend(waiter)
        } else {
            waiters.append(waiter)
        }
        waiter.wasChosen = false
        waiter.group = self
    }

    /// A writer changes the value, so later waiters are asked when it has left.
    func choose(into chosen: inout [ConditionWaiter]) {
        var next = waiters.first
        while let waiter = next {
            next = waiter.next
            if waiter.conditionHolds() {
                choose(waiter)
                chosen.append(waiter)
                if waiter.mode == .write { return }
            }
        }
    }

    /// Chooses the first one unasked, if one is to be asked.
    func chooseFirst() -> ConditionWaiter? {
        guard isToBeAsked, let first = waiters.first else { return nil }
        choose(first)
        return first
    }

    private func choose(_ waiter: ConditionWaiter) {
        waiters.remove(waiter)
        waiter.wasChosen = true
        chosenCount += 1
    }

    func remove(_ waiter: ConditionWaiter) {
        if waiter.wasChosen {
            chosenCount -= 1
        } else {
            waiters.remove(waiter)
        }
        waiter.group = nil
    }
}

/// One thread or task in a ``ConditionLine``, for as long as it waits.
///
/// SAFETY: `@unchecked Sendable` because `condition` is called by one thread at a time: by the one
/// that waits while it holds the value's lock, and by others while it stands in the line, with the
/// line's lock held. The other variables are used with the line's lock held.
final class ConditionWaiter: Linked, @unchecked Sendable {
    let mode: AccessMode
    var condition: (@Sendable () -> Bool)?
    /// The task that waits; nil if a thread does.
    private let task: SleepingTask?
    /// The group, until the wait ends.
    var group: ConditionGroup?
    var previous: ConditionWaiter?
    var next: ConditionWaiter?
    /// Whether the thread left the line because it was chosen.
    var wasChosen = false
    /// The word that the thread sleeps on: 1 after the wake-up.
    let isWoken = Atomic<UInt32>(0)

    init(
        _ mode: AccessMode,
        _ condition: @escaping @Sendable () -> Bool,
        _ task: SleepingTask? = nil
    ) {
        self.mode = mode
        self.condition = condition
        self.task = task
    }

    /// The executor that the task needs to go on; nil if a thread waits.
    var place: TaskPlace? { task?.place }

    /// Asks the condition.
    ///
    /// Not inlined, so that its reference to the closure has ended when it returns: the closure
    /// ends with the call that waits.
    @inline(never) func conditionHolds() -> Bool {
        condition?() ?? false
    }

    /// The thread sleeps until the wake-up, or until the deadline.
    func sleep(before deadline: ContinuousClock.Instant?) {
        // Relaxed: the locks that this thread takes next order what others did.
        while isWoken.load(ordering: .relaxed) == 0 {
            if let deadline, deadline <= .now { return }
            // SAFETY: the word is in this object, which the caller keeps.
            unsafe withUnsafePointer(to: isWoken) { word in
                let address = unsafe UnsafeMutableRawPointer(mutating: word)
                if let deadline {
                    unsafe latchkey_system_futex_wait_for(address, 0, deadline.nanosecondsLeft)
                } else {
                    unsafe latchkey_system_futex_wait(address, 0)
                }
            }
        }
    }

    /// Ends the sleep.
    func wake() {
        if let task {
            return task.wake()
        }
        isWoken.store(1, ordering: .relaxed)
        // SAFETY: the kernel uses the address as a key and does not follow it.
        unsafe withUnsafePointer(to: isWoken) { word in
            _ = unsafe latchkey_system_futex_wake(UnsafeMutableRawPointer(mutating: word), 1)
        }
    }
}
#endif
