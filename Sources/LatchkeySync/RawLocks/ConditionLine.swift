#if os(Linux)
internal import CLatchkeySystem
internal import Synchronization

/// The threads and tasks that wait until a value fulfils a condition of theirs, in the order in
/// which they came.
///
/// **Design.** The value's lock is held whenever the line is asked or joined. The line has a lock
/// of its own besides, because a thread leaves it at its deadline without the value's lock. It is
/// held while conditions are asked: a thread that leaves waits until its condition is not being
/// asked.
///
/// No wake-up is lost, because of one rule: while the value's lock is free, either no condition in
/// the line holds, or a chosen thread is on its way. A chosen thread is counted from the moment it
/// is chosen. It has two ways to end, and neither breaks the rule:
///
/// - It gets the lock. When it lets go, it chooses the next one, also if its own condition did not
///   hold any more.
/// - It gives up without the lock, as a task does that is cancelled. Then it cannot ask, and makes
///   the first one in the line its successor unasked. That one asks when it gets the lock.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `lock` is held.
@usableFromInline final class ConditionLine: @unchecked Sendable {
    let lock = AdaptiveLock()
    private var waiters: [ConditionWaiter] = []
    /// Those who were chosen and have not had the value's lock since.
    private var chosenCount = 0

    /// Whether who lets go after a write has to choose.
    var isToBeAsked: Bool { chosenCount == 0 && !waiters.isEmpty }

    /// Lets a thread wait; one that was woken in vain keeps its place as the first one.
    func append(_ waiter: ConditionWaiter) {
        waiters.insert(waiter, at: waiter.wasChosen ? 0 : waiters.count)
        waiter.wasChosen = false
        waiter.isWoken.store(0, ordering: .relaxed)
    }

    /// Takes those out whose condition holds: readers, and at most one writer.
    ///
    /// A writer changes the value, so those behind it are asked when it has left.
    func choose() -> [ConditionWaiter] {
        var chosen: [ConditionWaiter] = []
        var index = 0
        while chosen.last?.mode != .write, index < waiters.count {
            if waiters[index].conditionHolds() {
                chosen.append(choose(at: index))
            } else {
                index += 1
            }
        }
        return chosen
    }

    private func choose(at index: Int) -> ConditionWaiter {
        let waiter = waiters.remove(at: index)
        waiter.wasChosen = true
        chosenCount += 1
        return waiter
    }

    /// Ends the wait of a thread; true if it had been chosen.
    @discardableResult func remove(_ waiter: ConditionWaiter) -> Bool {
        if waiter.wasChosen {
            chosenCount -= 1
        } else {
            waiters.removeAll { $0 === waiter }
        }
        return waiter.wasChosen
    }

    /// Ends the wait of a thread that does not hold the value's lock.
    func abandon(_ waiter: ConditionWaiter) {
        lock.lock()
        let hasSuccessor = remove(waiter) && isToBeAsked
        let successor = hasSuccessor ? choose(at: 0) : nil
        lock.unlock()
        successor?.wake()
    }
}

/// One thread or task in a ``ConditionLine``, for as long as it waits.
///
/// SAFETY: `@unchecked Sendable` because `condition` is called by one thread at a time: by the one
/// that waits while it holds the value's lock, and by others while it stands in the line, with the
/// line's lock held. `wasChosen` is used with the line's lock held.
final class ConditionWaiter: @unchecked Sendable {
    let mode: AccessMode
    var condition: (@Sendable () -> Bool)?
    /// The task that waits; nil if a thread does.
    private let task: SleepingTask?
    /// Whether the thread left the line because it was chosen.
    var wasChosen = false
    /// What the thread sleeps on: 1 after the wake-up.
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

    /// Asks the condition.
    ///
    /// Not inlined, so that its reference to the closure has ended when it returns: the closure
    /// ends with the call that waits.
    @inline(never) func conditionHolds() -> Bool {
        condition?() ?? false
    }

    /// The thread sleeps until the wake-up, or until the deadline.
    func sleep(before deadline: ContinuousClock.Instant?) {
        // Relaxed: what others did, the locks tell that this thread takes next.
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
