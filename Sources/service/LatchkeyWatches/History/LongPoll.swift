internal import CLatchkeySystem
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// A read of one property that waits until the property's revision is above `after`.
///
/// **Design.** Each round looks at the property, and then waits for a commit that changes it. The
/// latest revision is read before the look, so the wait covers each commit that the look did not
/// see. The answer is always that of a look.
///
/// If the client gives up, the poll ends its wait, and so gives its place back. That may happen
/// between two rounds, so `presence` is checked after each wait is added. When the service drains,
/// a poll is refused: its time is not up.
struct LongPoll: Sendable {
    let request: ServiceRequest
    let client: ClientKey
    let name: PropertyName
    let conditions: Conditions
    let after: Revision
    let deadlineNanoseconds: UInt64
    let watched: WatchedHistory
    let hub: WatchHub
    /// The identifier of its waits, from ``WatchHub/nextIdentifier()``.
    let id: UInt64
    let visitor: WatchVisitor
    private let presence = Presence()

    /// Looks at the property, and answers or waits.
    func begin() {
        look(isLast: deadlineNanoseconds <= latchkey_system_nanoseconds(), isWaiting: false)
    }

    private func look(isLast: Bool, isWaiting: Bool) {
        let since = watched.usage.revision
        do throws(BacklogFull) {
            try watched.base.look(name, in: .live, .here()) { property in
                seen(property, since, isLast: isLast, isWaiting: isWaiting)
            }
        } catch {
            if isWaiting {
                hub.leave(client)
            }
            request.fail(.backlogFull)
        }
    }

    private func seen(
        _ property: Property?,
        _ since: Revision,
        isLast: Bool,
        isWaiting: Bool
    ) {
        if property.map({ $0.revision > after }) ?? (after > watched.journal.start) || isLast {
            if isWaiting {
                hub.leave(client)
            }
            answer(property)
            return
        }
        do throws(RequestFailure) {
            if !isWaiting {
                try hub.enter(request, id, presence)
            }
            wait(since)
        } catch {
            request.fail(error)
        }
    }

    private func wait(_ since: Revision) {
        let filter = WatchFilter.name(unsafe Array(name.bytes))
        hub.add(
            WatchWait(
                filter: filter,
                since: since,
                deadlineNanoseconds: deadlineNanoseconds,
                caller: request.caller,
                isAllowed: { [caller = request.caller] in filter.isAllowed(to: caller) },
                visitor: visitor
            ) { over($0) },
            id
        )
        if presence.isOver {
            hub.giveUp(id)
        }
    }

    /// A round is over.
    private func over(_ end: WatchWait.End) {
        switch end {
        case .changed: look(isLast: false, isWaiting: true)
        case .timeUp, .gone: look(isLast: true, isWaiting: true)
        case .draining: fail(RequestFailure(.draining))
        case .revoked:
            let caller = request.caller
            fail(caller.isRevoked ? .revoked : .forbidden(.read, caller))
        }
    }

    private func fail(_ failure: RequestFailure) {
        hub.leave(client)
        request.fail(failure)
    }

    private func answer(_ property: Property?) {
        guard let property, property.revision <= after else {
            request.answer(property, conditions)
            return
        }
        request.respond(notModified: property)
    }
}
