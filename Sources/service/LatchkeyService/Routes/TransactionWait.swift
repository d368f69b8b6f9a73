internal import CLatchkeySystem
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches
internal import Synchronization

/// A transaction that waits until its conditions hold, and its pops find something.
///
/// It is tried again whenever a property changes that its conditions name or that a pop could take,
/// until its time is over. Then its other branch is taken. When the service drains before, it is
/// refused, and nothing of it is made.
///
/// **Design.** As a ``LongPoll``: the revision that commits are waited for is read before each try,
/// so that no commit is missed. Transactions that wait for the same are in a line of
/// ``WaitingLines``, and only the first of them is tried: if it cannot be made, the others cannot,
/// either. So a lock passes from one to the next in the order in which they came, and a commit
/// leads to one try, however many wait. The others only wait for the end of their time, or for
/// their turn. If the strategy's backlog is full, the first waits for a pause and tries again, so
/// that the line is not used up. Nothing of the transaction is applied for a client that has gone
/// before its try. A repeat with its `Idempotency-Key` and a shorter wait ends the wait of both.
final class TransactionWait: Sendable {
    /// Until the next try when the backlog was full.
    private static let pauseNanoseconds: UInt64 = 100_000_000

    /// The identifier of its waits, from ``WatchHub/nextIdentifier()``.
    let id: UInt64
    private let answer: TransactionAnswer
    private let deadlineNanoseconds: Atomic<UInt64>
    private let routes: TransactionRoutes
    private let filter: WatchFilter
    private let client: ClientKey
    private let line: [UInt8]
    private let presence = Presence()
    private let visitor: WatchVisitor

    private var request: ServiceRequest { answer.request }
    private var hub: WatchHub { routes.hub }

    init(
        _ answer: TransactionAnswer,
        _ deadlineNanoseconds: UInt64,
        _ routes: TransactionRoutes
    ) {
        self.answer = answer
        self.deadlineNanoseconds = Atomic(deadlineNanoseconds)
        self.routes = routes
        filter = answer.transaction.awaited
        line = answer.transaction.line
        client = answer.request.client
        visitor = WatchVisitor(answer.request)
        id = routes.hub.nextIdentifier()
    }

    func begin() {
        request.key?.begins { [self] in end(by: $0) }
        if routes.lines.join(line, self) {
            attempt(isLast: false, isWaiting: false)
        } else {
            wait(WatchFilter([]), .max, isWaiting: false)
        }
    }

    /// Ends the wait at a time, if it would end later.
    func end(by endNanoseconds: UInt64) {
        if deadlineNanoseconds.min(endNanoseconds, ordering: .relaxed).oldValue > endNanoseconds {
            hub.giveUp(id)
        }
    }

    private var isOver: Bool {
        deadlineNanoseconds.load(ordering: .relaxed) <= latchkey_system_nanoseconds()
    }

    private func attempt(isLast: Bool, isWaiting: Bool) {
        let since = routes.watched.usage.revision
        var transaction = answer.transaction
        transaction.waits = !isLast
        let round = Round(self, since, isWaiting: isWaiting)
        let ask = Ask(at: CallSite(), timing: request.timing)
        do throws(BacklogFull) {
            try routes.store.commitAny(.transaction(transaction), ask, .waiting(round))
        } catch {
            guard isLast || !isWaiting else {
                let end = latchkey_system_nanoseconds() + Self.pauseNanoseconds
                return wait(WatchFilter([]), since, until: end, isWaiting: true)
            }
            leave(isWaiting)
            request.fail(.backlogFull)
        }
    }

    /// Leaves the line; then the next one has its turn.
    private func leave(_ isWaiting: Bool) {
        request.key?.endsWait()
        if isWaiting {
            hub.leave(client)
        }
        if let next = routes.lines.leave(line, self) {
            hub.giveUp(next.id)
        }
    }

    private func seen(_ decision: Decision, _ since: Revision, isWaiting: Bool) {
        guard case .failure(.notYet) = decision else {
            leave(isWaiting)
            answer.receive(decision)
            return
        }
        wait(filter, since, isWaiting: isWaiting)
    }

    private func wait(
        _ filter: WatchFilter,
        _ since: Revision,
        until pauseEnd: UInt64 = .max,
        isWaiting: Bool
    ) {
        if !isWaiting {
            do throws(RequestFailure) {
                try hub.enter(request, id, presence)
            } catch {
                leave(false)
                request.fail(error)
                return
            }
        }
        let deadline = deadlineNanoseconds.load(ordering: .relaxed)
        hub.add(
            WatchWait(
                filter: filter,
                since: since,
                deadlineNanoseconds: min(pauseEnd, deadline),
                caller: request.caller,
                isAllowed: { [self] in lackedRight == nil && !request.caller.isRevoked },
                visitor: visitor,
                shownFilter: self.filter
            ) { [self] in end($0) },
            id
        )
        // Its client may have gone, its turn may have come, or its time may have become shorter
        // before it was added.
        let isInLine = filter.parts.isEmpty && pauseEnd == .max
        if presence.isOver || isInLine && routes.lines.isFirst(line, self)
            || deadlineNanoseconds.load(ordering: .relaxed) < deadline
        {
            hub.giveUp(id)
        }
    }

    private var lackedRight: Right? { answer.transaction.lackedRight(of: request.caller) }

    private func end(_ reason: WatchWait.End) {
        if reason != .revoked, presence.isOver {
            leave(true)
            return request.giveUp()
        }
        switch reason {
        // It is also given up when its turn has come, or its time has become shorter.
        case .gone where !isOver && !routes.lines.isFirst(line, self):
            wait(WatchFilter([]), .max, isWaiting: true)
        case .changed, .gone, .timeUp: attempt(isLast: isOver, isWaiting: true)
        // Its time is not over, so the other branch is not taken.
        case .draining: fail(RequestFailure(.draining))
        case .revoked: fail(lackedRight.map { .forbidden($0, request.caller) } ?? .revoked)
        }
    }

    private func fail(_ failure: RequestFailure) {
        leave(true)
        request.fail(failure)
    }

    /// The decision of one try, which is the answer or leads to the next wait.
    final class Round: Sendable {
        private let wait: TransactionWait
        private let since: Revision
        private let isWaiting: Bool

        fileprivate init(_ wait: TransactionWait, _ since: Revision, isWaiting: Bool) {
            self.wait = wait
            self.since = since
            self.isWaiting = isWaiting
        }

        func receive(_ decision: Decision) {
            wait.seen(decision, since, isWaiting: isWaiting)
        }

        var author: [UInt8]? { wait.answer.author }

        var key: RequestKey? { wait.request.key }
    }
}

/// The transactions that wait, in lines of those that wait for the same.
///
/// **Design.** `lines` is guarded by a lock, which is not held while anything is called.
final class WaitingLines: Sendable {
    /// No line is empty.
    private let lines = Synchronized<[[UInt8]: [TransactionWait]], AdaptiveStrategy>([:])

    /// Joins a line at its end.
    ///
    /// - Returns: Whether it is the first one.
    func join(_ line: [UInt8], _ wait: TransactionWait) -> Bool {
        lines.write { lines in
            lines[line, default: []].append(wait)
            return lines[line]?.count == 1
        }
    }

    func isFirst(_ line: [UInt8], _ wait: TransactionWait) -> Bool {
        lines.read { $0[line]?.first === wait }
    }

    /// Leaves a line.
    ///
    /// - Returns: The transaction that thereby becomes the first.
    func leave(_ line: [UInt8], _ wait: TransactionWait) -> TransactionWait? {
        lines.write { lines in
            guard let place = lines[line]?.firstIndex(where: { $0 === wait }) else { return nil }
            lines[line]?.remove(at: place)
            guard let first = lines[line]?.first else {
                lines[line] = nil
                return nil
            }
            return place == 0 ? first : nil
        }
    }
}

extension Transaction {
    /// The properties of which a change can make the transaction possible; none if it is possible
    /// at any time.
    var awaited: WatchFilter {
        var parts = conditions.map { unsafe WatchFilter.Part.name(Array($0.name.bytes)) }
        for step in steps {
            guard case .pop(let claim) = step.action else { continue }
            unsafe parts.append(.prefix(Array(step.name.bytes)))
            if let claim {
                unsafe parts.append(.prefix(Array(claim.prefix.bytes)))
            }
        }
        return WatchFilter(parts)
    }

    /// A key that is the same for all transactions that become possible together: the conditions,
    /// and the steps up to the last pop, without the values of claims.
    fileprivate var line: [UInt8] {
        let end = steps.lastIndex { if case .pop = $0.action { true } else { false } }
        let deciding = steps[..<(end.map { $0 + 1 } ?? 0)].map { step in
            guard case .pop(let claim) = step.action else { return step }
            let bare = claim.map { unsafe Change.Claim($0.prefix, value: $0.prefix.bytes) }
            return Change.Step(step.name, .pop(bare))
        }
        return Change.transaction(Transaction(if: conditions, deciding)).encoded()
    }
}
