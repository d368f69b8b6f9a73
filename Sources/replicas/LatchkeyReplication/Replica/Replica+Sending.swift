internal import Dispatch
internal import LatchkeyStore
internal import LatchkeySync

// Entries on their way into the log. All of it runs on `queue`, unless a comment says otherwise.

extension Replica {
    /// Sends the next entry, if there is something to send and none is in flight.
    func send() {
        let now = clocks.nanoseconds()
        let time = clocks.calendar()
        let entry = state.write { state -> InFlight? in
            state.isSending = false
            return state.nextEntry(settings, at: now, time)
        }
        if let entry { append(entry) }
    }

    /// Sends the next entry, or looks again after a wait for more changes; called on the log's
    /// thread.
    func sendWhenGathered() {
        let now = clocks.nanoseconds()
        let (sends, pause) = state.write { state in
            let sends = state.beginsSending(at: now)
            return (sends, state.isGathering(at: now) ? state.gathersUntil - now : nil)
        }
        if sends { return queue.async { [self] in send() } }
        guard let pause else { return }
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(pause))) { [self] in send() }
    }

    func append(_ entry: InFlight) {
        log.append(entry.bytes) { [self] outcome in
            queue.async { [self] in appended(entry, outcome) }
        }
    }

    private func appended(_ entry: InFlight, _ outcome: LogAppend) {
        // An entry that was sent more than once can be in the log in spite of a refusal.
        let isOut = entry.attemptCount == 1
        switch outcome {
        case .appended:
            // It comes, or is sent again when it is due.
            break
        case .unknown:
            state.write { state in
                if state.inFlight?.sequence == entry.sequence { state.inFlight?.hasMoved = true }
            }
        case .full where isOut:
            // etcd also answers this for an entry that it has put into the log, if the log became
            // full meanwhile (`quotaApplierV3.Put`). Such an entry is before the end, and comes.
            whenLevel { [self] isLevel in
                guard isLevel else { return }
                queue.async { [self] in giveUp(entry, .unavailable(.full)) }
            }
        case .full:
            // It is sent until there is room.
            break
        case .tooLarge where isOut:
            if entry.changes.count > 1 { split(entry) } else { giveUp(entry, .changeTooLong) }
        case .tooLarge:
            whenLevel { [self] isLevel in
                guard isLevel else { return }
                queue.async { [self] in setAside(entry) }
            }
        }
    }

    /// The log has refused the entry, and all up to its end was executed: it is not in the log,
    /// and never will be.
    private func giveUp(_ entry: InFlight, _ refusal: Refusal) {
        let (waiting, sends) = state.write { state -> (ThoseWhoWait?, Bool) in
            guard var current = state.takeRefused(entry) else { return (nil, false) }
            return (current.takeThoseWhoWait(), state.beginsSending(at: clocks.nanoseconds()))
        }
        waiting?.get(refusal)
        if sends { queue.async { [self] in send() } }
    }

    /// The log has refused an entry of several changes as too large: each of them can still fit.
    private func split(_ entry: InFlight) {
        let (byteCount, sends) = state.write { state -> (Int?, Bool) in
            guard let current = state.takeRefused(entry) else { return (nil, false) }
            return (state.putBack(current), state.beginsSending(at: clocks.nanoseconds()))
        }
        if let byteCount { callbacks.shortened(byteCount) }
        if sends { queue.async { [self] in send() } }
    }

    /// The log has refused an entry that was sent before, too, and is not before its end: only an
    /// earlier copy can still come.
    ///
    /// It must not delay the others. A later entry follows, which is empty. Once that has come
    /// without this one, no replica executes this one any more, since its number is lower.
    private func setAside(_ entry: InFlight) {
        let sends = state.write { state in
            guard state.inFlight?.sequence == entry.sequence, !entry.changes.isEmpty,
                state.refused == nil
            else { return false }
            state.refused = state.inFlight.take()
            return state.beginsSending(at: clocks.nanoseconds())
        }
        if sends { queue.async { [self] in send() } }
    }

    /// Ends an entry that was set aside: a later one has come.
    func settle(_ refused: InFlight) {
        guard refused.changes.count < 2 else {
            let byteCount = state.write { $0.putBack(refused) }
            return callbacks.shortened(byteCount)
        }
        var refused = refused
        let waiting = refused.takeThoseWhoWait()
        answers.async { waiting.get(.changeTooLong) }
    }

    /// Does what is due: called many times a second.
    package func tick() {
        queue.async { [self] in
            repeatEntry()
            refuseLate()
            // Changes that were held while the log was silent.
            if state.write({ $0.beginsSending(at: clocks.nanoseconds()) }) { send() }
            askIfDue()
            checkMarks()
        }
    }

    /// Sends an entry again that did not come in time, and answers clients that have waited too
    /// long.
    ///
    /// A stopped replica sends nothing again: it would not learn that the entry came.
    private func repeatEntry() {
        let now = clocks.nanoseconds()
        let isRunning = isRunning
        let (entry, movesOn, late) = state.write { state -> (InFlight?, Bool, [ThoseWhoWait]) in
            let late = [
                state.inFlight?.takeLate(at: now, settings),
                state.refused?.takeLate(at: now, settings),
            ]
            guard isRunning, state.inFlight?.isDue(at: now, state.repetitionTime) == true else {
                return (nil, false, late.compactMap(\.self))
            }
            let movesOn = state.inFlight.map { $0.isLost(freshAt: state.fresh) } ?? false
            if movesOn { state.inFlight?.hasMoved = true }
            state.inFlight?.repeats(at: now)
            state.counts.repetitions += 1
            return (state.inFlight, movesOn, late.compactMap(\.self))
        }
        for waiting in late { waiting.get(.unavailable(.unknown)) }
        guard let entry else { return }
        if movesOn { log.moveOn() }
        append(entry)
    }

    /// Refuses changes that were not sent in time: they never will be.
    private func refuseLate() {
        let now = clocks.nanoseconds()
        let (late, life) = state.write { state -> (ArraySlice<Waiting>, Life?) in
            let isLate = { [settings] in now.elapsed(since: $0) > settings.refusalNanoseconds }
            let life = state.life.map { isLate($0.since) } == true ? state.life.take() : nil
            let count = state.waiting.firstIndex { !isLate($0.since) } ?? state.waiting.count
            guard count > 0 else { return ([], life) }
            let late = state.waiting[..<count]
            state.waiting.removeFirst(count)
            state.waitingByteCount -= late.reduce(0) { $0 + $1.encoded.count }
            return (late, life)
        }
        refuse(late)
        life?.completion(false)
    }

    func refuse(_ waiting: some Sequence<Waiting>) {
        let refusal = refusal
        for change in waiting { change.completion(.failure(.unavailable(refusal))) }
    }
}

extension Replica.InFlight {
    /// Takes the clients, if they have waited too long.
    fileprivate mutating func takeLate(
        at now: UInt64,
        _ settings: Replica.Settings
    ) -> Replica.ThoseWhoWait? {
        guard now.elapsed(since: since) > settings.unknownNanoseconds else { return nil }
        return takeThoseWhoWait()
    }
}
