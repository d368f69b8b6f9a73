internal import CLatchkeySystem
internal import Dispatch
internal import LatchkeySync
internal import Synchronization

// **Design.** One thread at a time changes guards. Orderings: ``Guard/askers`` says which pair.

extension StripeGuard {
    /// Lets another guard serve.
    ///
    /// The calling thread is the only one that does.
    ///
    /// **A guard that applies every access before a call returns** is held, so that no other access
    /// is inside. Then the new one serves, and is asked. An access that waits for the old one finds
    /// that when it enters, and begins again. Nothing else is held: an access inside an access of
    /// the same thread goes on.
    ///
    /// **A guard that applies writes later** has accepted some, which come before all accesses to
    /// the new one. So the new one is held first, and asked from then on. When no more writes are
    /// about to be accepted, the old one is entered at its tail. Then the new one serves.
    ///
    /// - Parameters:
    ///   - new: The number of the new guard, which was made.
    ///   - publish: Called with the old and the new guard while the old one is held.
    /// - Returns: For how long a stripe was held, in nanoseconds.
    func change(to new: UInt8, _ publish: (_ old: Guard, _ new: Guard) -> Void) -> UInt64 {
        let old = serving.load(ordering: .relaxed)
        guard old != new else { return 0 }
        let (left, entered) = (self[old], self[new])
        shared.step?(.begins)
        guard let queue = left.queue else {
            hold(left)
            let start = latchkey_system_nanoseconds()
            shared.step?(.held)
            publish(left, entered)
            // In this order: an access that asks the new one finds that it serves.
            serving.store(new, ordering: .sequentiallyConsistent)
            shared.step?(.stored)
            index.store(word(new) | Self.isWatched, ordering: .sequentiallyConsistent)
            left.release(.write)
            return latchkey_system_nanoseconds() &- start
        }
        hold(entered)
        let start = latchkey_system_nanoseconds()
        shared.step?(.held)
        // In a step: an access to several queues comes either before on all, or after on all.
        SectionOrder.inOneStep {
            index.store(word(new) | Self.isWatched, ordering: .sequentiallyConsistent)
        }
        shared.step?(.stored)
        while left.askers.load(ordering: .sequentiallyConsistent) != 0 {
            latchkey_system_yield()
        }
        Self.hold(queue)
        publish(left, entered)
        serving.store(new, ordering: .sequentiallyConsistent)
        queue.release()
        if let queue = entered.queue { queue.release() } else { entered.release(.write) }
        return latchkey_system_nanoseconds() &- start
    }

    private func hold(_ section: Guard) {
        if let queue = section.queue {
            Self.hold(queue)
        } else if !section.tryHold(.write) {
            section.hold(.write)
        }
    }

    /// Enters at the tail, and waits for that.
    static func hold(_ queue: any SectionQueue) {
        let isInside = DispatchSemaphore(value: 0)
        queue.enqueueHold(.write) { isInside.signal() }
        isInside.wait()
    }

    /// Has accesses timed, or not any more.
    func watch(_ isWatched: Bool) {
        let word = index.load(ordering: .relaxed) & ~Self.isWatched
        index.store(word | (isWatched ? Self.isWatched : 0), ordering: .sequentiallyConsistent)
    }
}
