internal import Dispatch
package import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyStore
internal import LatchkeyStrategies

/// Lets reads wait until the state is as new as they ask for, on all routes that read the store.
///
/// **Design.** A read that need not wait goes on where it is. Each other one takes a place among
/// the watches and long polls, and waits as they do: without a thread, until its time is up, its
/// client goes or the service drains. The handlers of those that have waited run on `queue`, one
/// after the other: no read may delay the threads that end the waits, those of the log and of the
/// watches.
package final class FreshReads: RequestStep {
    fileprivate let hub: WatchHub
    fileprivate let journal: Journal
    /// Nil unless the service was started to follow another one.
    private let leader: LeaderRefusal?
    /// Nil if nothing is acknowledged anywhere else.
    fileprivate let others: (any SharedState)?
    fileprivate let queue = DispatchQueue(label: "latchkey.reads", qos: .userInitiated)

    /// Answers a linearizable read, if only a leader can serve it.
    ///
    /// - Returns: Whether the request is answered.
    package typealias LeaderRefusal = @Sendable (ServiceRequest) -> Bool

    package init(
        hub: WatchHub,
        journal: Journal,
        leader: LeaderRefusal? = nil,
        others: (any SharedState)? = nil
    ) {
        self.hub = hub
        self.journal = journal
        self.leader = leader
        self.others = others
    }

    /// The status of reads that only a leader can serve.
    package var statuses: [UInt16] { leader == nil ? [] : [421] }

    /// Takes a request that says how new the state must be.
    ///
    /// At a replica of a cluster, that includes a request that goes on after a revision which the
    /// state has not reached: another replica can have shown it. Once the state is up to date, it
    /// is known whether the revision is one of another store. A replica whose state is wrong
    /// refuses all reads, and so does one whose state stays old until its disk has room.
    package func takes(
        _ request: inout ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) -> Bool {
        if let failure = others?.readRefusal {
            request.fail(failure)
            return true
        }
        let isAhead = others != nil && Freshness.isAhead(request, of: journal.last)
        guard isAhead || Freshness.isAsked(in: request.exchange.query) else { return false }
        do throws(RequestFailure) {
            try take(request, match, route, isAhead: isAhead)
        } catch {
            request.fail(error)
        }
        return true
    }

    private func take(
        _ request: ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler,
        isAhead: Bool
    ) throws(RequestFailure) {
        var freshness = try request.freshness()
        if isAhead { freshness.isLinearizable = true }
        if freshness.isLinearizable, leader?(request) == true { return }
        let asks = freshness.isLinearizable && others != nil
        guard asks || journal.last < freshness.revision else {
            return route.run(request, match)
        }
        // The wait would never end.
        guard others?.hasEnded != true else { throw .oldState }
        let read = FreshRead(self, request, freshness, match, route)
        try read.begin(asks: asks)
    }
}

/// A read that waits.
///
/// **Design.** It waits in rounds, one after the other and each of ``WatchHub``, until everything
/// that it waits for has come. `isLevel` is guarded by a lock; the rest does not change. The call
/// with the answer ends the round, which may not be added yet: so the answer is checked again after
/// that, as `presence` is.
private final class FreshRead: Sendable {
    private let reads: FreshReads
    private let request: ServiceRequest
    private let client: ClientKey
    private let revision: Revision
    private let match: RouteMatch
    private let route: RouteHandler
    private let deadlineNanoseconds: UInt64
    private let id: UInt64
    private let visitor: WatchVisitor
    private let presence = Presence()
    /// Whether the state is up to date; nil until that is known.
    private let isLevel = Guarded<Bool?>(nil)

    init(
        _ reads: FreshReads,
        _ request: ServiceRequest,
        _ freshness: Freshness,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) {
        self.reads = reads
        self.request = request
        client = request.client
        revision = freshness.revision
        self.match = match
        self.route = route
        let wait = min(freshness.wait, reads.hub.readMillisecondsMax(request))
        deadlineNanoseconds = request.deadlineNanoseconds(wait)
        id = reads.hub.nextIdentifier()
        visitor = WatchVisitor(request)
    }

    func begin(asks: Bool) throws(RequestFailure) {
        try reads.hub.enter(request, id, presence)
        guard asks, let others = reads.others else {
            isLevel.write { $0 = true }
            return goOn()
        }
        // Not kept by the question, which can be answered long after the time is up.
        others.whenLevel { [weak self] in self?.learns(isLevel: $0) }
        goOn()
    }

    private func learns(isLevel: Bool) {
        self.isLevel.write { $0 = isLevel }
        reads.hub.giveUp(id)
    }

    /// Reads, or begins the next round unless that was the last one.
    private func goOn(orFail last: Problem? = nil) {
        let isLevel = isLevel.read { $0 }
        let isReached = revision <= reads.journal.last
        if isLevel == true, isReached {
            reads.queue.async { [self] in proceed() }
        } else if isLevel == false {
            fail(notLevel)
        } else if let last {
            fail(last == .notLevel ? notLevel : RequestFailure(last))
        } else {
            wait(isAsking: isLevel == nil, isReached: isReached)
        }
    }

    private var notLevel: RequestFailure {
        reads.others?.hasEnded == true ? .oldState : RequestFailure(.notLevel)
    }

    private func wait(isAsking: Bool, isReached: Bool) {
        reads.hub.add(
            WatchWait(
                filter: WatchFilter([]),
                since: .max,
                until: isReached ? .max : revision,
                deadlineNanoseconds: deadlineNanoseconds,
                caller: request.caller,
                isAllowed: { [request] in !request.caller.isRevoked },
                visitor: visitor
            ) { [self] in end($0) },
            id
        )
        if presence.isOver || isAsking && isLevel.read({ $0 != nil }) {
            reads.hub.giveUp(id)
        }
    }

    /// A round is over.
    private func end(_ reason: WatchWait.End) {
        if presence.isOver {
            leave()
            return request.answerInVain()
        }
        switch reason {
        // The round also ends when the answer has come.
        case .changed, .gone: goOn()
        case .timeUp: goOn(orFail: .notLevel)
        case .draining: goOn(orFail: .draining)
        case .revoked: fail(.revoked)
        }
    }

    private func leave() {
        reads.hub.leave(client)
    }

    private func fail(_ failure: RequestFailure) {
        leave()
        request.fail(failure)
    }

    private func proceed() {
        leave()
        guard !presence.isOver else { return request.answerInVain() }
        // The token may have been revoked while the read waited.
        guard !request.caller.isRevoked else { return request.fail(.revoked) }
        var request = request
        request.renewLevel()
        route.run(request, match)
    }
}

extension ServiceRequest {
    fileprivate func freshness() throws(RequestFailure) -> Freshness {
        try Freshness(parameters())
    }
}
