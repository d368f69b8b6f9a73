internal import LatchkeyStore

// The entry that is sent next.

extension Replica.State {
    /// Whether the caller must send an entry.
    mutating func beginsSending(at now: UInt64) -> Bool {
        guard inFlight == nil, !isSending, hasCause(at: now) else { return false }
        isSending = true
        return true
    }

    private func hasCause(at now: UInt64) -> Bool {
        !waiting.isEmpty && !isGathering(at: now)
            || raise != nil || life != nil || refused != nil
    }

    /// Whether more changes are waited for.
    func isGathering(at now: UInt64) -> Bool {
        guard now < gathersUntil, let count = gathering.awaitedCount else { return false }
        return waiting.count < min(count, LogEntryWriter.changeCountMax)
            && waitingByteCount < entryByteCountMax
    }

    /// Makes an entry of the changes that fit, and puts it in flight.
    mutating func nextEntry(
        _ settings: Replica.Settings,
        at now: UInt64,
        _ time: Timestamp
    ) -> Replica.InFlight? {
        guard inFlight == nil, phase == .serving || phase == .draining,
            hasCause(at: now) || marks.isAsked,
            now.elapsed(since: heard) <= settings.silenceNanoseconds
        else { return nil }
        let life = life.take()
        // An entry without changes is not refused as too large.
        let changes = life == nil && refused == nil ? takeFitting() : []
        sequence += 1
        let asksForMark = now.elapsed(since: lastMark) > settings.markNanoseconds
        if asksForMark { lastMark = now }
        let raised = raise.take()
        let entry = Replica.InFlight(
            changes,
            life: life,
            LogEntry.Head(
                rules: raised ?? position.rules,
                raisesRules: raised != nil,
                writer: settings.incarnation,
                sequence: sequence,
                time: time,
                asksForMark: asksForMark,
                earlier: marks.next(),
                life: life?.revision
            ),
            at: now
        )
        inFlight = entry
        return entry
    }

    /// Takes the changes that one entry has.
    private mutating func takeFitting() -> [Replica.Waiting] {
        var (count, byteCount) = (0, 0)
        while count < waiting.count, count < LogEntryWriter.changeCountMax {
            let next = byteCount + waiting[count].encoded.count
            // One change always fits: the log's own limit is above this one.
            guard count == 0 || next <= entryByteCountMax else { break }
            (count, byteCount) = (count + 1, next)
        }
        defer { waiting.removeFirst(count) }
        waitingByteCount -= byteCount
        return Array(waiting[..<count])
    }

    /// Takes the entry that was sent once, and refused; nil if it was sent again meanwhile.
    mutating func takeRefused(_ entry: Replica.InFlight) -> Replica.InFlight? {
        guard let current = inFlight, current.sequence == entry.sequence,
            current.attemptCount == 1
        else { return nil }
        inFlight = nil
        return current
    }

    /// Puts the changes of an entry that was too large before the waiting ones.
    ///
    /// - Returns: How many bytes of changes later entries have at most.
    mutating func putBack(_ entry: Replica.InFlight) -> Int {
        let changes = entry.untoldChanges
        waiting.insert(contentsOf: changes, at: 0)
        waitingByteCount += changes.reduce(0) { $0 + $1.encoded.count }
        entryByteCountMax = min(entryByteCountMax, entry.changeByteCount / 2)
        return entryByteCountMax
    }

    /// Takes an own entry that has come, and the one that was set aside, if it will never come.
    mutating func takeOwn(
        _ sequence: UInt64,
        at now: UInt64,
        _ settings: Replica.Settings
    ) -> (own: Replica.InFlight?, refused: Replica.InFlight?) {
        var former: Replica.InFlight?
        if let refused, refused.sequence <= sequence {
            self.refused = nil
            guard refused.sequence < sequence else { return (refused, nil) }
            former = refused
        }
        guard let own = inFlight, own.sequence == sequence else { return (nil, former) }
        inFlight = nil
        gathering.finishes(inFlight: own.changes.count + waiting.count)
        // No longer than the entry has taken: the wait is short if no client sends again.
        gathersUntil = now + min(settings.gatherNanoseconds, now.elapsed(since: own.since))
        if own.attemptCount == 1 {
            repetitionTime.came(after: now.elapsed(since: own.sent))
        } else if !own.hasMoved {
            repetitionTime.cameAgain()
        }
        return (own, former)
    }

    /// Takes the rules of an entry that raises them.
    ///
    /// - Returns: The entry in flight with these rules, if it had earlier ones: its earlier form
    ///   has not come yet, so no replica will execute that.
    mutating func raises(to rules: RuleLevel, at now: UInt64) -> Replica.InFlight? {
        position.rules = rules
        if let raise, raise <= rules { self.raise = nil }
        guard var entry = inFlight, entry.head.rules < rules else { return nil }
        sequence += 1
        var head = entry.head
        (head.rules, head.sequence) = (rules, sequence)
        entry.begins(anew: head, at: now)
        inFlight = entry
        return entry
    }
}

extension UInt64 {
    /// The nanoseconds from a time to this one; 0 if that one is later.
    ///
    /// It can be: a thread asks the clock before it holds the state, and another thread that asks
    /// later can hold it first.
    func elapsed(since earlier: UInt64) -> UInt64 { self > earlier ? self - earlier : 0 }
}
