internal import LatchkeyHTTP
internal import LatchkeyMetrics
internal import LatchkeyStore

extension WatchPump {
    /// Sends the live watchers the commits behind the position.
    ///
    /// - Returns: Whether there were any.
    func deliver() -> Bool {
        let target = journal.last
        guard position < target else {
            return false
        }
        while position < target {
            let reading = journal.commits(after: position, countMax: Self.commitCountMax)
            guard case .commits(let commits) = reading, let last = commits.last else {
                loseAll(target)
                break
            }
            deliver(commits, through: last.revision)
        }
        let arrived = ahead.filter { $0.place.latest <= position }
        ahead.removeAll { $0.place.latest <= position }
        behind += arrived
        return true
    }

    /// The journal has dropped what the live watchers have not got.
    private func loseAll(_ target: Revision) {
        position = target
        for watcher in watchers.values where watcher.index != nil {
            end(watcher)
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
            for (index, effect) in commit.effects.enumerated() {
                let groups = unsafe audience.groups(effect.nameBytes)
                guard !groups.isEmpty else { continue }
                let event = EventText.effect(effect, commit.revision, at: time)
                for group in groups {
                    woken.formUnion(group.waits)
                    guard !group.watchers.isEmpty else { continue }
                    if group.batch.isFull {
                        flush(group)
                    }
                    if group.batch.isEmpty {
                        touched.append(group)
                    }
                    group.batch.add(event, index, after: previous)
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
        for wait in woken {
            end(wait: wait, .changed)
        }
    }

    /// Sends the bytes of a group to all of its watchers.
    ///
    /// Backwards, because a watcher that leaves is replaced by the last one.
    private func flush(_ group: WatchAudience.Group) {
        group.batch.close()
        let batch = group.batch
        group.batch.removeAll()
        guard !batch.isEmpty else { return }
        for watcher in group.watchers.reversed() {
            let result = send(batch, to: watcher)
            if result != .accepted {
                audience.remove(watcher)
                watcher.place = batch.start
            }
        }
    }

    private func send(_ batch: EventBatch, to watcher: Watcher) -> ResponseStream.WriteResult {
        let result = watcher.output.write(batch.bytes)
        if result == .accepted {
            watcher.place = batch.end
            watcher.idPlace = batch.end
            counters.events.add(UInt64(batch.eventCount))
        }
        watcher.isFull = result == .full
        return result
    }

    /// Gives each watcher that can be served its turn.
    func serve() {
        let turns = behind
        behind = []
        for watcher in turns where !watcher.isOver {
            serve(watcher)
        }
    }

    private func serve(_ watcher: Watcher) {
        if watcher.state != nil, !sendState(watcher) {
            return
        }
        for _ in 0..<Self.pieceCountMax {
            let here = WatchPlace(revision: position)
            guard watcher.place < here else {
                if watcher.place == here {
                    audience.add(watcher)
                } else {
                    ahead.append(watcher)
                }
                return
            }
            guard catchUp(watcher) else {
                return
            }
        }
        behind.append(watcher)
    }

    /// Sends a watcher some commits behind its place.
    ///
    /// - Returns: Whether it can be sent more.
    private func catchUp(_ watcher: Watcher) -> Bool {
        let start = watcher.place
        let count = min(Int(position - start.revision), Self.commitCountMax)
        let reading = journal.commits(after: start.revision, countMax: count)
        guard case .commits(let commits) = reading else {
            end(watcher)
            return false
        }
        let time = clock.now()
        var batch = EventBatch(at: start)
        for commit in commits {
            let previous = commit.revision - 1
            let sentCount = previous == start.revision ? start.effectCount : 0
            for (index, effect) in commit.effects.enumerated() where index >= sentCount {
                guard unsafe watcher.filter.matches(effect.nameBytes) else { continue }
                if batch.isFull, !flush(&batch, to: watcher) {
                    return false
                }
                batch.add(
                    EventText.effect(effect, commit.revision, at: time),
                    index,
                    after: previous
                )
            }
            batch.endCommit(commit.revision)
        }
        guard flush(&batch, to: watcher) else {
            return false
        }
        watcher.place = batch.end
        return true
    }

    private func flush(_ batch: inout EventBatch, to watcher: Watcher) -> Bool {
        batch.close()
        guard batch.isEmpty || send(batch, to: watcher) == .accepted else {
            return false
        }
        batch.removeAll()
        return true
    }

    /// Sends a watcher more of the current state, and the end of it.
    ///
    /// - Returns: Whether the watcher has got all of it.
    private func sendState(_ watcher: Watcher) -> Bool {
        guard var state = watcher.state else {
            return true
        }
        let revision = state.snapshot.revision
        guard revision >= journal.oldest else {
            // The changes behind the state are lost already.
            end(watcher)
            return false
        }
        let counters = counters
        var result = state.send(
            to: watcher.output,
            pieceCountMax: Self.pieceCountMax,
            at: clock.now()
        ) { counters.events.add(UInt64($0)) }
        watcher.state = state
        if result == nil {
            result = watcher.output.write(EventText.ready(revision))
            if result == .accepted {
                watcher.state = nil
                return true
            }
        }
        watcher.isFull = result == .full
        if result == .accepted {
            behind.append(watcher)
        }
        return false
    }
}
