internal import Dispatch
internal import LatchkeyStore
internal import LatchkeySync

// Execution of what the log delivers. All of it runs on the log's thread, one call after the other.

extension Replica {
    func receive(_ event: LogEvent) {
        switch event {
        case .entry(let place, let bytes): execute(bytes, at: place)
        case .last(let place, let bytes): verify(bytes, at: place)
        case .compacted: enter(.tooLate)
        case .wentBack(let end): wentBack(to: end, position.place)
        case .identified(let log):
            state.write { $0.position.log = log }
            callbacks.identified()
        case .otherLog(let reason): enterOtherLog(reason)
        case .disconnected(let reason): enter(.connecting(reason))
        case .connected:
            // It can be another server, which takes longer entries than the one before.
            state.write { $0.entryByteCountMax = settings.bounds.entryByteCountMax }
            if phase != .serving { enter(.catchingUp) }
            ask()
        }
    }

    /// Decodes the entry that comes next, or the one at this replica's place.
    private func decoded(_ bytes: [UInt8]) throws(LogEntry.Failure) -> LogEntry {
        try LogEntry(decoding: bytes, behind: position.rules, known: settings.known)
    }

    /// Checks that the entry at this replica's place is the one that was executed.
    private func verify(_ bytes: [UInt8], at place: LogPlace) {
        let position = position
        let isKnown: Bool
        do throws(LogEntry.Failure) {
            let head = try decoded(bytes).head
            isKnown = position.has(writer: head.writer, sequence: head.sequence)
        } catch {
            return stop(at: place, error)
        }
        guard place != position.place || !isKnown else { return }
        enterOtherLog(
            "The log has another entry at place \(position.place.number) than this replica: it is "
                + "another log, or one from an earlier backup that has grown again."
        )
    }

    /// The log ends before a place that this replica has executed.
    func wentBack(to end: LogPlace, _ place: LogPlace) {
        enterOtherLog(
            "The log ends at \(end.number), before place \(place.number) of this replica: it is "
                + "another log (is --cluster-name right?), or one from an earlier backup."
        )
    }

    /// The message asks to keep the data, which can be the only copy.
    private func enterOtherLog(_ reason: String) {
        enter(
            .otherLog(
                reason + " Keep the data of this replica: they can be the only copy of "
                    + "acknowledged writes. docs/cluster.md says how to go on."
            )
        )
    }

    /// Changes the phase, unless the replica has stopped.
    package func enter(_ phase: Phase) {
        let isChanged = state.write { state in
            switch state.phase {
            case _ where state.phase.isFinal, phase: return false
            case .draining where !phase.isFinal: return false
            case .serving:
                // Without a connection a serving replica goes on: changes wait, and are refused
                // when they have waited too long, and reads say their age.
                switch phase {
                case .connecting, .catchingUp: return false
                case _: break
                }
            case _: break
            }
            state.phase = phase
            return true
        }
        if isChanged { callbacks.changed(phase) }
    }

    private func execute(_ bytes: [UInt8], at place: LogPlace) {
        guard isRunning else { return }
        let entry: LogEntry
        do throws(LogEntry.Failure) {
            entry = try decoded(bytes)
        } catch {
            return stop(at: place, error)
        }
        let head = entry.head
        guard head.writer != settings.incarnation || hasSent(head, bytes) else {
            return enter(
                .diverged(
                    "The entry at place \(place.number) says that this replica has written it, "
                        + "which it has not: something else writes to the log."
                )
            )
        }
        guard head.rules <= position.rules || head.raisesRules else {
            return enter(
                .diverged(
                    "The entry at place \(place.number) has format \(head.rules.rawValue), and "
                        + "none before it has raised the rules: no version writes that."
                )
            )
        }
        let now = clocks.nanoseconds()
        let (position, isExecuted) = state.write { state -> (LogPosition, Bool) in
            (state.heard, state.fresh) = (now, now)
            let isNew = state.position.enters(writer: head.writer, sequence: head.sequence)
            // After the raise, entries of an earlier format are skipped, whichever replica sent
            // them.
            let isExecuted = isNew && head.rules >= state.position.rules
            if isExecuted, head.time.milliseconds > state.position.time.milliseconds {
                state.position.time = head.time
            }
            // Other threads see it after the execution: they compare it with the end of the log.
            var position = state.position
            position.place = place
            return (position, isExecuted)
        }
        var reached = position
        if isExecuted {
            if head.rules > position.rules { raise(to: head.rules, at: now, &reached) }
            if let life = head.life, life > store.revision { store.jump(to: life) }
            callbacks.advanced(position.time)
            let decisions = entry.proposals.map { store.execute($0, at: position.time) }
            reached.revision = store.revision
            state.write { $0.position = reached }
            store.reaches(reached)
            answer(entry, decisions)
            compare(entry, at: place, reached.revision)
        } else {
            state.write { $0.position = reached }
            store.reaches(reached)
        }
        reaches(place)
    }

    /// Whether an entry with this replica's number can be its own.
    ///
    /// Its waiting clients get answers that are made for their own changes.
    private func hasSent(_ head: LogEntry.Head, _ bytes: [UInt8]) -> Bool {
        let (sent, sequence) = state.read { ([$0.refused, $0.inFlight], $0.sequence) }
        guard let own = sent.first(where: { $0?.sequence == head.sequence }) else {
            return head.sequence <= sequence
        }
        return own?.bytes == bytes
    }

    /// Decides all changes from here on by later rules.
    private func raise(to rules: RuleLevel, at now: UInt64, _ reached: inout LogPosition) {
        reached.rules = rules
        store.decide(by: rules)
        guard let entry = state.write({ $0.raises(to: rules, at: now) }) else { return }
        queue.async { [self] in append(entry) }
    }

    /// Whether it executes the entries that come.
    var isRunning: Bool { !phase.isFinal }

    private func stop(at place: LogPlace, _ failure: LogEntry.Failure) {
        switch failure {
        case .format(let format):
            enter(
                .diverged(
                    "The entry at place \(place.number) has format \(format), which a later "
                        + "version has written: update this replica."
                )
            )
        case .damaged:
            enter(
                .diverged(
                    "The entry at place \(place.number) is damaged, or is none that a replica "
                        + "writes."
                )
            )
        }
    }

    /// Gives the decisions to the clients that wait for them.
    private func answer(_ entry: LogEntry, _ decisions: [Decision]) {
        guard entry.head.writer == settings.incarnation else { return }
        let now = clocks.nanoseconds()
        var (own, refused) = state.write { state -> (InFlight?, InFlight?) in
            let (own, refused) = state.takeOwn(entry.head.sequence, at: now, settings)
            guard let own else { return (nil, refused) }
            state.counts.entries += 1
            state.counts.changes += UInt64(entry.proposals.count)
            state.counts.nanoseconds += now.elapsed(since: own.since)
            return (own, refused)
        }
        if let refused { settle(refused) }
        // It was put into the log after its first sending, and all entries before it are executed.
        if let own { callbacks.isLevel(own.since) }
        sendWhenGathered()
        guard let waiting = own?.takeThoseWhoWait() else { return }
        answers.async { waiting.get(decisions) }
    }

    // MARK: Marks

    private func compare(_ entry: LogEntry, at place: LogPlace, _ revision: Revision) {
        let now = clocks.nanoseconds()
        let head = entry.head
        if let earlier = head.earlier, head.writer != settings.incarnation {
            state.write { $0.marks.heard(earlier, of: head.writer, at: now) }
        }
        guard head.asksForMark else { return }
        state.write { state in
            state.marks.begin(place)
            state.lastMark = now
        }
        store.hash { [self] hash in
            let mark = LogEntry.Mark(place: place, revision: revision, hash: hash)
            state.write { $0.marks.computed(mark, at: clocks.nanoseconds()) }
        }
    }

    /// Writes this replica's mark if others differ, and stops if they are right.
    func checkMarks() {
        let now = clocks.nanoseconds()
        let (place, sends) = state.write { state -> (LogPlace?, Bool) in
            let sends = state.marks.isAsked && state.inFlight == nil && !state.isSending
            if sends { state.isSending = true }
            return (state.marks.divergence(at: now), sends)
        }
        if sends { send() }
        if let place {
            enter(
                .differs(
                    "The state after place \(place.number) of the log is not that of the other "
                        + "replicas. Move its data away, and start it with an empty folder: it "
                        + "takes the state of another one."
                )
            )
        }
    }
}
