internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore

extension WatchPump {
    /// Sends the live watchers the commits after the position.
    ///
    /// - Returns: Whether there were any.
    func deliver(_ now: UInt64) -> Bool {
        let target = journal.last
        guard position < target else {
            return false
        }
        pace.rounds.begin(now, clocks.processorNanoseconds())
        defer { pace.rounds.handOut() }
        while position < target {
            let reading = journal.commits(after: position, countMax: Self.commitCountMax)
            guard case .commits(let commits, let end) = reading else {
                loseAll(target)
                break
            }
            deliver(commits, through: end)
        }
        for wait in revisions.reached(position) {
            end(wait: wait, .changed)
        }
        let arrived = ahead.filter { $0.place.latest <= position }
        ahead.removeAll { $0.place.latest <= position }
        for watcher in arrived {
            behind.append(watcher)
        }
        endLostStates()
        return true
    }

    /// Ends the streams that keep a state whose changes are lost, and whose clients do not read.
    private func endLostStates() {
        guard !holding.isEmpty else { return }
        let oldest = journal.oldest
        let lost = holding.values.filter { watcher in
            guard let revision = watcher.state?.snapshot.revision, revision < oldest else {
                return false
            }
            return revision < journal.oldest(of: watcher.filter.beginnings)
        }
        for watcher in lost {
            end(watcher)
        }
    }

    /// The journal has dropped commits that the live watchers have not got: each one checks whether
    /// that concerns it.
    private func loseAll(_ target: Revision) {
        let here = WatchPlace(revision: position)
        position = target
        for watcher in watchers.values where watcher.index != nil {
            audience.remove(watcher)
            watcher.place = here
            behind.append(watcher)
        }
        endAllWaits(.changed)
    }

    private func deliver(_ commits: [Commit], through last: Revision) {
        let time = clock.now()
        var touched: [WatchAudience.Group] = []
        var woken: Set<UInt64> = []
        for commit in commits {
            let previous = commit.revision - 1
            var changed: [WatchAudience.Group] = []
            for (index, effect) in commit.effects.enumerated() where effect.isEvent {
                let groups = unsafe audience.groups(effect.nameBytes)
                guard !groups.isEmpty else { continue }
                // Made once for each form, in place: a list of them would be allocated each time.
                var events = InlineArray<4, [UInt8]?>(repeating: nil)
                let kind = EffectKinds(effect.kind)
                for group in groups {
                    woken.formUnion(group.waits)
                    guard !group.watchers.isEmpty, group.filter.kinds.contains(kind),
                        unsafe group.filter.fits(effect.nameBytes)
                    else { continue }
                    if group.batch.isFull {
                        flush(group)
                    }
                    if group.batch.isEmpty {
                        touched.append(group)
                    }
                    let form = group.filter.form
                    let text =
                        events[form.number]
                        ?? EventText.effect(effect, commit.revision, at: time, form)
                    events[form.number] = text
                    group.batch.add(text, index, after: previous, hasTime: effect.hasTime)
                    changed.append(group)
                }
            }
            for group in changed {
                group.batch.endCommit(commit.revision)
            }
        }
        position = last
        for group in touched {
            flush(group)
        }
        // In the order in which they came.
        for wait in woken.sorted() {
            end(wait: wait, .changed)
        }
    }

    /// Sends the bytes of a group to all of its watchers.
    ///
    /// Once the round is exhausted, the watchers of a large group catch up instead. Watchers of
    /// small groups do not wait for them: an event has few of these groups.
    ///
    /// Backwards, because a watcher that leaves is replaced by the last one.
    private func flush(_ group: WatchAudience.Group) {
        group.batch.close()
        let batch = group.batch
        group.batch.removeAll()
        guard !batch.isEmpty else { return }
        let piece = WatchPiece(batch, answers)
        let isLarge = group.watchers.count > WatchPace.smallGroupCountMax
        var isKept = false
        for watcher in group.watchers.reversed() {
            guard !isLarge || !pace.rounds.isExhausted else {
                audience.remove(watcher)
                watcher.place = piece.start
                behind.append(watcher)
                if !isKept {
                    isKept = true
                    pieces.add(piece, group.filter, clocks.nanoseconds())
                }
                continue
            }
            let result = send(piece, to: watcher, .round)
            if result != .accepted {
                audience.remove(watcher)
                watcher.place = piece.start
            }
        }
    }

    private func send(
        _ piece: WatchPiece,
        to watcher: Watcher,
        _ turns: WatchTurns.Kind
    ) -> ResponseStream.WriteResult {
        guard let bytes = piece.bytes else {
            return .accepted
        }
        let result = watcher.output.write(bytes)
        if result == .accepted {
            let isAwaited = watcher.output.awaitSent(turns.rawValue)
            pace[turns].note(bytes.count, isAwaited: isAwaited)
            watcher.place = piece.end
            watcher.idPlace = piece.end
            counters.events.add(UInt64(piece.eventCount))
        }
        watcher.isFull = result == .full
        return result
    }

    /// Gives watchers that can be served their turns, until the time of a slice is over.
    ///
    /// A live watcher that was full has its turn here, too.
    func serve(_ now: UInt64) {
        let end = now + WatchPace.sliceNanoseconds
        pace.slices.begin(now, clocks.processorNanoseconds())
        while let watcher = behind.popFirst() {
            if !watcher.isOver {
                serve(watcher)
            }
            guard clocks.nanoseconds() < end, !pace.slices.isExhausted else { break }
        }
        if behind.isEmpty {
            pieces.removeAll()
        }
        pace.slices.handOut()
    }

    private func serve(_ watcher: Watcher) {
        if watcher.state != nil, !sendState(watcher) {
            return
        }
        let here = WatchPlace(revision: position)
        guard watcher.place >= here || catchUp(watcher) else {
            return
        }
        if watcher.place < here {
            behind.append(watcher)
        } else if watcher.place == here {
            audience.add(watcher)
        } else {
            ahead.append(watcher)
        }
    }

    /// Sends a watcher a piece after its place.
    ///
    /// - Returns: Whether it can be sent more.
    private func catchUp(_ watcher: Watcher) -> Bool {
        let here = WatchPlace(revision: position)
        let piece = pieces.piece(
            watcher.filter,
            at: watcher.place,
            through: here,
            clocks.nanoseconds()
        ) {
            makePiece(watcher.filter, behind: watcher.place).map { WatchPiece($0, answers) }
        }
        guard let piece else {
            end(watcher)
            return false
        }
        guard send(piece, to: watcher, .slice) == .accepted else {
            return false
        }
        watcher.place = piece.end
        return true
    }

    /// The events that follow a place which is before the position: as many as one piece has.
    ///
    /// - Returns: nil if the journal does not hold them.
    private func makePiece(_ filter: WatchFilter, behind start: WatchPlace) -> EventBatch? {
        let time = clock.now()
        let prefixes = filter.beginnings
        var batch = EventBatch(at: start)
        var effectCount = 0
        while batch.end.revision < position {
            let place = batch.end
            guard
                case .commits(let commits, let end) = journal.commits(
                    after: place.revision,
                    through: position,
                    countMax: Self.commitCountMax,
                    of: prefixes
                )
            else { return nil }
            for commit in commits {
                let previous = commit.revision - 1
                let sentCount = previous == start.revision ? start.effectCount : 0
                for (index, effect) in commit.effects.enumerated() where index >= sentCount {
                    effectCount += 1
                    guard effectCount <= Self.effectCountMax else {
                        batch.stop(before: index, after: previous)
                        return batch
                    }
                    guard filter.matches(effect) else { continue }
                    guard !batch.isFull else {
                        batch.close()
                        return batch
                    }
                    let event = EventText.effect(
                        effect,
                        commit.revision,
                        at: time,
                        filter.form
                    )
                    batch.add(event, index, after: previous, hasTime: effect.hasTime)
                }
                batch.endCommit(commit.revision)
            }
            batch.endCommit(end)
        }
        return batch
    }

    /// Sends a watcher more of the current state, and the end of it.
    ///
    /// - Returns: Whether the watcher has got all of it.
    private func sendState(_ watcher: Watcher) -> Bool {
        guard var state = watcher.state else {
            return true
        }
        let revision = state.snapshot.revision
        guard revision >= journal.oldest(of: watcher.filter.beginnings) else {
            // The changes after the state are lost already.
            end(watcher)
            return false
        }
        let counters = counters
        var result = state.send(
            to: watcher.output,
            pieceCountMax: Self.statePieceCountMax,
            at: clock.now()
        ) { eventCount, byteCount in
            counters.events.add(UInt64(eventCount))
            let isAwaited = watcher.output.awaitSent(WatchTurns.Kind.slice.rawValue)
            pace.slices.note(byteCount, isAwaited: isAwaited)
        }
        watcher.state = state
        if result == nil {
            result = watcher.output.write(EventText.ready(revision))
            if result == .accepted {
                watcher.state = nil
                return true
            }
        }
        watcher.isFull = result == .full
        if watcher.isFull {
            holding[watcher.id] = watcher
        }
        if result == .accepted {
            behind.append(watcher)
        }
        return false
    }
}

extension Commit.Effect {
    /// Whether the event of the effect has a time to live.
    fileprivate var hasTime: Bool { property.map { $0.expiry != .never } ?? false }
}
