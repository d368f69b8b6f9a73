internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore

/// Reads the journal and sends each watcher its events.
///
/// **Design.** One thread uses it, so it has no lock; ``WatchHub`` brings it the messages of the
/// other threads. It is a machine without a clock: the time comes with each call.
///
/// The pump has a position in the journal. A watcher that has got everything up to there is live:
/// it stands in the ``WatchAudience``, and a round sends the bytes of a group to all of its
/// watchers. Every other watcher has a place of its own and is served from the journal, one piece
/// at a turn, until it arrives at the position. Live watchers come first: the others have the pump
/// for slices of time, and ``WatchPace`` says when. A watcher whose stream is full waits for room;
/// its place costs nothing. If the journal does not hold the place any more, its stream ends, and
/// the client's next connection begins with a gap.
final class WatchPump {
    /// How many commits are read from the journal at once.
    static let commitCountMax = 256
    /// How many effects are looked at for one piece, whether they match or not.
    static let effectCountMax = 4096
    /// How many pieces of the state one watcher is sent before the next one has its turn.
    static let statePieceCountMax = 4

    let journal: Journal
    let counters: WatchCounters
    let answers: AnswerBudget
    private let keepAliveNanoseconds: UInt64
    let clock: StoreClock
    let clocks: WatchClocks
    private let retryMilliseconds: () -> Int
    private let arm: @Sendable (Revision) -> Void

    private(set) var watchers: [UInt64: Watcher] = [:]
    private(set) var waits: [UInt64: WatchWait] = [:]
    var audience = WatchAudience()
    private var timers = WatchTimers()
    var revisions = RevisionWaits()
    private var observers: [[UInt8]: Watcher] = [:]
    /// Streams that were over before the pump knew of them.
    private var goneEarly: Set<UInt64> = []
    /// Watchers that can be served.
    var behind = WatchQueue()
    /// Watchers with full streams that have not got the whole state: each keeps a snapshot.
    var holding: [UInt64: Watcher] = [:]
    var pieces = WatchPieces()
    /// Watchers whose place is after the position: their commits are still to come.
    var ahead: [Watcher] = []
    /// All live watchers have got the commits up to this revision.
    var position: Revision = 0
    private var isDraining = false
    /// Whether the journal will call because of the next commit.
    private var isArmed = false
    var pace: WatchPace

    /// - Parameters:
    ///   - journal: The commits.
    ///   - keepAliveNanoseconds: The time between two keep-alive comments.
    ///   - counters: The counters of the watches.
    ///   - answers: The budget of unsent answers.
    ///   - clock: The store's clock, for times to live.
    ///   - processorCount: The processors that the service can use.
    ///   - clocks: The clocks; their time is that of `now` in all other calls.
    ///   - unsent: Count down when streams have sent their bytes.
    ///   - retryMilliseconds: Draws how long a client waits before it connects again.
    ///   - arm: Asks for a call of ``journalMoved()`` once the journal has reached a revision.
    init(
        journal: Journal,
        keepAliveNanoseconds: UInt64,
        counters: WatchCounters,
        answers: AnswerBudget,
        clock: StoreClock = .system,
        processorCount: Int,
        clocks: WatchClocks,
        unsent: UnsentStreams.Pair,
        retryMilliseconds: @escaping () -> Int = {
            .random(in: ServerSentEvents.retryMilliseconds)
        },
        arm: @escaping @Sendable (Revision) -> Void
    ) {
        self.journal = journal
        self.keepAliveNanoseconds = keepAliveNanoseconds
        self.counters = counters
        self.answers = answers
        self.clock = clock
        self.clocks = clocks
        self.retryMilliseconds = retryMilliseconds
        self.arm = arm
        pace = WatchPace(processorCount: processorCount, unsent)
    }

    /// Takes a new watcher.
    func open(_ id: UInt64, _ request: WatchRequest, _ output: any WatchOutput, _ now: UInt64) {
        guard goneEarly.remove(id) == nil else { return }
        wakeUp()
        let watcher = Watcher(id, request, output)
        watchers[id] = watcher
        if let observer = request.observer,
            let former = observers.updateValue(watcher, forKey: observer)
        {
            close(former, with: EventText.replaced)
        }
        let start = ServerSentEvents.start(retryMilliseconds: retryMilliseconds())
        _ = output.write(start + greeting(request))
        guard !isDraining, watcher.isAllowed else {
            close(watcher, with: ServerSentEvents.close)
            return
        }
        scheduleKeepAlive(watcher, now)
        behind.append(watcher)
    }

    private func greeting(_ request: WatchRequest) -> [UInt8] {
        switch request.start {
        case .place, .state:
            return []
        case .now(let revision):
            return ServerSentEvents.end(id: WatchPlace(revision: revision).text)
        case .gap(let snapshot):
            counters.gaps.add()
            let oldest = journal.oldest(of: request.filter.beginnings)
            return EventText.gap(snapshot.revision, oldest: oldest)
        }
    }

    /// Takes a new wait, which may be over at once.
    func wait(_ id: UInt64, _ wait: WatchWait) {
        guard !isDraining, wait.isAllowed() else {
            wait.resume(isDraining ? .draining : .revoked)
            return
        }
        wakeUp()
        guard !isMissed(wait) else {
            wait.resume(.changed)
            return
        }
        waits[id] = wait
        revisions.add(id, wait.until)
        audience.addWait(id, for: wait.filter)
        timers.add(id, at: WatchTimers.tick(wait.deadlineNanoseconds))
    }

    /// Whether the awaited change came before the wait.
    private func isMissed(_ wait: WatchWait) -> Bool {
        guard wait.until > position else { return true }
        var revision = wait.since
        while revision < position {
            let reading = journal.commits(
                after: revision,
                through: position,
                countMax: Self.commitCountMax,
                of: wait.filter.beginnings
            )
            guard case .commits(let commits, let end) = reading,
                !commits.contains(where: wait.isMet)
            else { return true }
            revision = end
        }
        return false
    }

    /// A stream that was full has room again.
    func hasRoom(_ id: UInt64) {
        guard let watcher = watchers[id], watcher.isFull else { return }
        watcher.isFull = false
        holding[id] = nil
        behind.append(watcher)
    }

    /// A stream is over.
    func gone(_ id: UInt64) {
        guard let watcher = watchers.removeValue(forKey: id) else {
            goneEarly.insert(id)
            return
        }
        leave(watcher)
    }

    /// The journal has reached the revision that it was asked for.
    func journalMoved() {
        isArmed = false
    }

    /// Ends the watchers and waits of clients that may not read their properties any more.
    func tokensChanged() {
        for watcher in watchers.values where !watcher.isOver && !watcher.isAllowed {
            close(watcher, with: ServerSentEvents.close)
        }
        for (id, wait) in waits where !wait.isAllowed() {
            end(wait: id, .revoked)
        }
    }

    /// Sends the events that there are, and ends all watchers and waits, now and later.
    func drain(_ now: UInt64) {
        guard !isDraining else { return }
        pace.rounds.hurry(now)
        _ = run(now)
        isDraining = true
        for watcher in watchers.values where !watcher.isOver {
            close(watcher, with: ServerSentEvents.close)
        }
        endAllWaits(.draining)
    }

    /// Does the work that is due.
    ///
    /// - Returns: When to call it again at the latest; nil if only a message can give it work.
    func run(_ now: UInt64) -> UInt64? {
        while let due = timers.popDue(now) {
            for id in due {
                if let watcher = watchers[id] {
                    keepAlive(watcher, now)
                } else {
                    end(wait: id, .timeUp)
                }
            }
        }
        pace.see(clocks)
        if isResting(now) {
            pace.hurry(
                oldest: journal.oldest,
                live: position,
                behind: behind.first?.place.revision,
                now
            )
        }
        if isWatched, now >= pace.rounds.next {
            if !deliver(now), !isArmed {
                isArmed = true
                arm(position + 1)
            }
        }
        if !behind.isEmpty, now >= pace.slices.next {
            serve(now)
        }
        pace.see(clocks)
        return [
            isWatched && !isArmed ? pace.rounds.next : nil,
            behind.isEmpty ? nil : pace.slices.next,
            isResting(now) ? now + WatchPace.lookNanoseconds : nil,
            pace.rounds.nextLook,
            pace.slices.nextLook,
            timers.nextNanoseconds,
        ].compactMap(\.self).min()
    }

    /// Whether there can be postponed work.
    private func isResting(_ now: UInt64) -> Bool {
        isWatched && !isArmed && now < pace.rounds.next
            || !behind.isEmpty && now < pace.slices.next
    }

    private var isWatched: Bool { !watchers.isEmpty || !waits.isEmpty }

    /// Sets the position to the end of the journal, if there was no watch.
    private func wakeUp() {
        if !isWatched {
            position = journal.last
        }
    }
}

extension WatchPump {
    /// Ends a watcher's stream after a last event.
    func close(_ watcher: Watcher, with event: [UInt8]) {
        if !watcher.isOver {
            leave(watcher)
            watcher.output.end(with: event)
        }
    }

    /// Ends a watcher's stream.
    func end(_ watcher: Watcher) {
        leave(watcher)
        watcher.output.end()
    }

    private func leave(_ watcher: Watcher) {
        watcher.isOver = true
        watcher.state = nil
        holding[watcher.id] = nil
        audience.remove(watcher)
        timers.remove(watcher.id, at: watcher.keepAliveTick)
        if let observer = watcher.observer, observers[observer] === watcher {
            observers[observer] = nil
        }
    }

    /// Ends a wait, if it still waits.
    func end(wait id: UInt64, _ reason: WatchWait.End) {
        guard let wait = waits.removeValue(forKey: id) else { return }
        audience.removeWait(id, for: wait.filter)
        revisions.remove(id)
        timers.remove(id, at: WatchTimers.tick(wait.deadlineNanoseconds))
        wait.resume(reason)
    }

    func endAllWaits(_ reason: WatchWait.End) {
        for id in waits.keys.sorted() {
            end(wait: id, reason)
        }
    }

    /// Sends a comment to a watcher that is live, with the position as the id if the client's is
    /// older: so a client whose properties change seldom does not lose the history.
    private func keepAlive(_ watcher: Watcher, _ now: UInt64) {
        guard !watcher.isOver else { return }
        scheduleKeepAlive(watcher, now)
        guard watcher.index != nil else { return }
        let place = WatchPlace(revision: position)
        let isOld = watcher.idPlace < place
        let text = ServerSentEvents.keepAlive + (isOld ? ServerSentEvents.end(id: place.text) : [])
        if watcher.output.write(text) == .accepted {
            watcher.place = place
            watcher.idPlace = place
        }
    }

    /// Comments of the same second are sent together: waking many streams at once costs less.
    private func scheduleKeepAlive(_ watcher: Watcher, _ now: UInt64) {
        let second: UInt64 = 1_000_000_000
        let due = now + keepAliveNanoseconds
        watcher.keepAliveTick = WatchTimers.tick(
            keepAliveNanoseconds > 2 * second ? due / second * second : due
        )
        timers.add(watcher.id, at: watcher.keepAliveTick)
    }
}
