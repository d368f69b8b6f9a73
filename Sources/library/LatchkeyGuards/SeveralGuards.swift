internal import Dispatch
internal import LatchkeyContention
public import LatchkeySync
internal import Synchronization

/// Several stripes that are held at one moment.
///
/// **Design.** Those whose guards apply every access before a call returns are held in ascending
/// order, by the calling thread. Those that have a queue which applies writes later are entered
/// after them, in one step (``SectionOrder``). So two accesses cannot wait for each other in a
/// circle: an access that waits for such a queue holds all that it needs of the others, and the
/// order on each queue is the same for all. `Tests/model/switch.c` has it.
///
/// An access that holds something never begins again. If the guard of a stripe is switched before
/// it is held, that stripe is asked once more, before any later one. At a stripe with a queue, the
/// access counts as an asker: a switch waits until it is on the queue, and enters after it.
///
/// A switch from queue to queue stores the index in such a step, too, and an access looks at the
/// index in its own step. So two accesses have the same order on all queues.
///
/// That no two wait for each other rests on this order, and on one switch at a time, which goes
/// from the first stripe to the last.
///
/// SAFETY: `@unchecked Sendable` because one thread uses it at a time: the holder, or the last
/// queue that is reached if the access is applied later.
@usableFromInline final class SeveralGuards: @unchecked Sendable {
    private struct Place {
        let stripe: StripeGuard
        var access: Access
        /// Nil if the calling thread holds it.
        var queue: (any SectionQueue)?
        /// The guard that counts the caller as an asker.
        var counted: Guard?
    }

    private let mode: AccessMode
    /// How many are held, from the first one on, by a caller that began without this object.
    private var heldCount = 0
    /// Kept, because the accesses do not keep it.
    private let ask: Ask
    private var places: [Place]
    /// Whether the backlogs have counted the access.
    private var isAdmitted = false

    @usableFromInline
    init(_ stripes: [StripeGuard], _ mode: AccessMode, _ ask: Ask, isSubmitted: Bool = false) {
        (self.mode, self.ask) = (mode, ask)
        places = stripes.map {
            Place(stripe: $0, access: Access(mode, ask, isSubmitted: isSubmitted))
        }
    }

    /// Holds the first ones on behalf of the calling thread, which has entered them.
    @unsafe @usableFromInline
    func takeOver(_ accesses: UnsafeMutableBufferPointer<Access>, _ count: Int) {
        for index in 0..<count { places[index].access = unsafe accesses[index] }
        heldCount = count
    }

    /// Where the values are, for the thread inside.
    @usableFromInline var values: [ValuePlace] { places.map { $0.stripe.place($0.access) } }

    /// Holds all, and blocks until it does.
    @usableFromInline func hold() {
        for index in places.indices.dropFirst(heldCount) {
            while !count(index, where: { $0.queue != nil }),
                !places[index].stripe.hold(&places[index].access)
            {}
        }
        guard places.contains(where: { $0.queue != nil }) else { return }
        let isInside = DispatchSemaphore(value: 0)
        enterQueues { isInside.signal() }
        isInside.wait()
        entersQueues()
    }

    /// Counts the caller as an asker of a stripe's guard, if it is such a guard.
    private func count(_ index: Int, where isLate: (Guard) -> Bool) -> Bool {
        guard let section = places[index].stripe.counts(where: isLate) else { return false }
        places[index].access.chooses(section)
        places[index].queue = section.queue
        places[index].counted = section
        return true
    }

    /// Enters those with a queue in one step, and calls `then` inside all of them.
    private func enterQueues(_ then: @escaping @Sendable () -> Void) {
        var count = 0
        for index in places.indices {
            guard let queue = places[index].queue else { continue }
            places[index].access.asks()
            if !queue.joins(mode) { places[index].access.isBlocked() }
            count += 1
        }
        // One more than there are queues: the last step must not happen while the order is kept.
        let missing = Countdown(count + 1)
        let enters = { @Sendable in
            if missing.isLast() { then() }
        }
        SectionOrder.inOneStep {
            for index in places.indices where places[index].queue != nil {
                follow(index)
                places[index].queue?.enqueueHold(mode, enters)
            }
        }
        isAccepted()
        enters()
    }

    /// Goes to the queue that new accesses ask, if a switch has gone there since the last look.
    private func follow(_ index: Int) {
        let section = places[index].stripe.current
        guard section !== places[index].counted, let old = places[index].queue,
            let new = section.queue
        else { return }
        old.leaves(mode)
        if isAdmitted {
            new.admitBeyondBound(mode)
            old.dismiss(mode)
        }
        places[index].queue = new
        places[index].access.beginsAgain()
        places[index].access.asks(section, isTimed: true)
        if !new.joins(mode) { places[index].access.isBlocked() }
    }

    /// Removes the caller as an asker of all guards.
    private func isAccepted() {
        for index in places.indices {
            places[index].counted.take()?.askers.subtract(1, ordering: .sequentiallyConsistent)
        }
    }

    private func entersQueues() {
        for index in places.indices where places[index].queue != nil {
            places[index].access.enters()
        }
    }

    /// Leaves all.
    @usableFromInline func leave() {
        for place in places.reversed() {
            guard let queue = place.queue else {
                place.stripe.leaveHeld(place.access)
                continue
            }
            place.access.leaves()
            queue.leaves(mode)
            queue.release()
            place.stripe.shared.note(place.access)
        }
    }
}

extension SeveralGuards {
    /// Submits an access to all.
    ///
    /// `body` runs inside, and then `completion`, outside: before this
    /// returns, unless all guards apply it later.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the stripes wait as its strategy
    ///   accepts. No read is refused.
    @usableFromInline func submit(
        _ body: @escaping @Sendable ([ValuePlace]) -> Void,
        completion: @escaping @Sendable () -> Void
    ) throws(BacklogFull) {
        guard countAll() else {
            hold()
            body(values)
            leave()
            return completion()
        }
        do throws(BacklogFull) {
            try admit(places.compactMap(\.queue))
        } catch {
            isAccepted()
            throw error
        }
        isAdmitted = true
        let submitted = SubmittedAll(body, completion)
        enterQueues { [self] in
            let queues = places.compactMap(\.queue)
            entersQueues()
            submitted.body?(values)
            leave()
            for queue in queues { queue.dismiss(mode) }
            queues[0].complete { submitted.complete() }
        }
    }

    /// Counts the caller as an asker of all, or of none.
    private func countAll() -> Bool {
        guard heldCount == 0 else { return false }
        for index in places.indices where !count(index, where: { $0.appliesLater(mode) }) {
            isAccepted()
            for counted in places[..<index].indices { places[counted].queue = nil }
            return false
        }
        return true
    }

    private func admit(_ queues: [any SectionQueue]) throws(BacklogFull) {
        for (index, queue) in queues.enumerated() {
            guard mode == .write else {
                queue.admitBeyondBound(mode)
                continue
            }
            do throws(BacklogFull) {
                try queue.admit(mode)
            } catch {
                for admitted in queues[..<index] { admitted.dismiss(mode) }
                throw error
            }
        }
    }
}

/// An access that was submitted to several stripes, until its completion has been called.
///
/// **Design.** Blocks on the queues keep this object only, as with a `SubmittedAccess`.
///
/// SAFETY: `@unchecked Sendable` because the last queue that is reached uses it first, and after
/// that the one that calls the completion.
private final class SubmittedAll: @unchecked Sendable {
    private(set) var body: (@Sendable ([ValuePlace]) -> Void)?
    private var completion: (@Sendable () -> Void)?

    init(
        _ body: @escaping @Sendable ([ValuePlace]) -> Void,
        _ completion: @escaping @Sendable () -> Void
    ) {
        (self.body, self.completion) = (body, completion)
    }

    /// Outside.
    func complete() {
        let (body, completion) = (body.take(), completion.take())
        withExtendedLifetime(body) { completion?() }
    }
}
