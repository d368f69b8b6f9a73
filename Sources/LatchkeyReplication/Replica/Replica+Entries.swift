internal import LatchkeyStore

// The entry that is sent next.

extension Replica.State {
    /// Whether the caller is to have an entry sent.
    var beginsSending: Bool {
        mutating get {
            guard inFlight == nil, !isSending, !waiting.isEmpty || raise != nil else {
                return false
            }
            isSending = true
            return true
        }
    }

    /// Takes what fits an entry, and puts it in flight.
    mutating func nextEntry(
        _ settings: Replica.Settings,
        at now: UInt64,
        _ time: Timestamp
    ) -> Replica.InFlight? {
        guard inFlight == nil, phase == .serving || phase == .draining,
            !waiting.isEmpty || marks.isAsked || raise != nil,
            now.elapsed(since: heard) <= settings.silenceNanoseconds
        else { return nil }
        var writer = LogEntryWriter()
        var count = 0
        while count < waiting.count, writer.fits(waiting[count].encoded.count) {
            writer.add(waiting[count].encoded)
            count += 1
        }
        let completions = waiting[..<count].map(\.completion)
        waiting.removeFirst(count)
        waitingByteCount -= writer.byteCount
        sequence += 1
        let asksForMark = now.elapsed(since: lastMark) > settings.markNanoseconds
        if asksForMark { lastMark = now }
        let raised = raise.take()
        let entry = Replica.InFlight(
            writer,
            LogEntry.Head(
                rules: raised ?? position.rules,
                raisesRules: raised != nil,
                writer: settings.incarnation,
                sequence: sequence,
                time: time,
                asksForMark: asksForMark,
                earlier: marks.next()
            ),
            at: now,
            completions
        )
        inFlight = entry
        return entry
    }

    /// Takes the rules of an entry that raises them.
    ///
    /// - Returns: The entry in flight with these rules, if it was of earlier ones: it did not come
    ///   before, so wherever it comes now, no replica executes it.
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
    /// It can be: a thread asks the clock before it holds the state, and another one that asks
    /// afterwards can hold it first.
    func elapsed(since earlier: UInt64) -> UInt64 { self > earlier ? self - earlier : 0 }
}
