internal import LatchkeyStore
internal import LatchkeySync

// Reads that see all that was acknowledged anywhere before them.
//
// **Design.** One question for the end of the log serves all reads that waited when it was sent:
// all that was acknowledged before is at that place or before it. Later reads wait for the next
// question.

/// The callers that wait for the end of the log.
struct Questions: Sendable {
    typealias Answer = @Sendable (Bool) -> Void

    /// How many places are waited for at most; beyond that, the last one is moved.
    private static let askedCountMax = 16

    private struct Asked: Sendable {
        var place: LogPlace
        var since: UInt64
        var answers: [Answer]
    }

    /// The callers for which no question was sent.
    private(set) var waiting: [Answer] = []
    /// The callers whose question has no answer yet, and when it was sent.
    private var sent: (since: UInt64, answers: [Answer])?
    /// The callers whose place was not reached yet.
    private var asked: [Asked] = []
    private(set) var last: UInt64 = 0

    mutating func add(_ answer: @escaping Answer) { waiting.append(answer) }

    /// Whether the caller must send a question now; it serves all waiting callers.
    mutating func begins(at now: UInt64) -> Bool {
        guard sent == nil else { return false }
        sent = (now, waiting)
        waiting = []
        last = now
        return true
    }

    /// The question was answered, or not.
    ///
    /// - Returns: The callers that get no answer.
    mutating func answered(_ place: LogPlace?) -> [Answer] {
        guard let sent = sent.take() else { return [] }
        guard let place else { return sent.answers }
        if asked.count == Self.askedCountMax, let last = asked.popLast() {
            // The later place is after the earlier one.
            asked.append(
                Asked(
                    place: max(last.place, place),
                    since: sent.since,
                    answers: last.answers + sent.answers
                )
            )
        } else {
            asked.append(Asked(place: place, since: sent.since, answers: sent.answers))
        }
        return []
    }

    /// Takes the callers whose place was reached, and since when the state is up to date.
    mutating func takeReached(_ place: LogPlace) -> (since: UInt64, answers: [Answer])? {
        guard let last = asked.lastIndex(where: { $0.place <= place }) else { return nil }
        defer { asked.removeSubrange(...last) }
        return (asked[last].since, asked[...last].flatMap(\.answers))
    }
}

extension Replica {
    /// Calls back when the state has all that was acknowledged anywhere before the call; with
    /// false if that cannot be known in time.
    package func whenLevel(_ answer: @escaping @Sendable (Bool) -> Void) {
        // A stopped replica would not call back: it reaches no place any more.
        guard isRunning else { return answer(false) }
        state.write { $0.questions.add(answer) }
        ask()
    }

    func ask() {
        let now = clocks.nanoseconds()
        guard let executed = state.write({ $0.questions.begins(at: now) ? $0.position.place : nil })
        else { return }
        log.end { [self] end in
            let now = clocks.nanoseconds()
            // A restored log has lost entries: the state at its end is not up to date.
            let isBehind = end.map { $0 < executed } == true
            let refused = state.write { state in
                if let end {
                    state.heard = now
                    if end <= state.position.place { state.fresh = now }
                }
                return state.questions.answered(isBehind ? nil : end)
            }
            if let end, isBehind { wentBack(to: end, executed) }
            for answer in refused { answer(false) }
            reaches(position.place)
            if state.read({ !$0.questions.waiting.isEmpty }) { ask() }
        }
    }

    /// Asks now and then also if no read waits, so that the age stays small.
    func askIfDue() {
        let now = clocks.nanoseconds()
        let last = state.read { $0.questions.last }
        if now.elapsed(since: last) > settings.questionNanoseconds { ask() }
    }

    /// The log was executed up to a place.
    func reaches(_ place: LogPlace) {
        guard let (since, answers) = state.write({ $0.questions.takeReached(place) })
        else { return }
        callbacks.isLevel(since)
        enter(.serving)
        for answer in answers { answer(true) }
    }
}
