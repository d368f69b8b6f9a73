internal import LatchkeySync

// Checks that the key has the log of the place, and all entries after it. All of it runs on
// `queue`.

extension EtcdLog {
    /// Compares the place with the log: one that ends before is another log, or an earlier backup.
    func check(_ now: Following) {
        ask(EtcdRequest.range(key), now) { log, answer in
            // Only a question for a revision can get no answer.
            guard let answer else { return log.ends(.invalid, now.generation) }
            let value = answer.values.first
            if let reason = log.objection(to: value, now) { return log.leaves(reason, now) }
            let end = LogPlace(value?.modified ?? 0)
            if end < now.place {
                if log.isCurrent(now) { now.receive(.wentBack(end: end)) }
            } else if end == now.place {
                // The revisions between are of other keys, and etcd can have forgotten them.
                log.checked(value, from: answer.header.revision + 1, now, answer)
            } else if now.place == .start {
                // From the first entry: earlier revisions are of other keys, and can be forgotten.
                log.checked(nil, from: value?.created ?? 1, now, answer)
            } else {
                log.look(now, answer)
            }
        }
    }

    /// Why the key has another log than that of the place; nil if it does not.
    func objection(to value: EtcdKeyValue?, _ now: Following) -> String? {
        let known = created.read { $0 }
        guard let value else {
            return known == nil ? nil : "\(name) is not there any more."
        }
        if let known { return value.created == known ? nil : madeAgain(value, known) }
        // An entry that was executed is not before the first one of the log.
        guard now.place != .start, value.created > now.place.number else { return nil }
        return madeAgain(value, nil)
    }

    func madeAgain(_ value: EtcdKeyValue, _ known: UInt64?) -> String {
        "\(name) was made at revision \(value.created) of etcd"
            + (known.map { ", and the log was made at \($0)" } ?? "")
            + ": it was deleted and made again, or it is of another cluster."
    }

    var name: String { "The key \(String(decoding: key, as: UTF8.self)) of etcd" }

    /// Looks at the entry at the place, which is not the last one of the log.
    func look(_ now: Following, _ end: EtcdAnswer) {
        let request = EtcdRequest.range(key, at: now.place.number)
        ask(request, now) { log, answer in
            guard let answer else { return log.findCompaction(now) }
            let last = answer.values.first ?? EtcdKeyValue()
            log.checked(last, from: now.place.number + 1, now, end)
        }
    }

    /// Asks for the first revision that etcd has: the answer to a watch from an earlier one says
    /// it.
    func findCompaction(_ now: Following) {
        let found = Guarded(false)
        let stream = Guarded<EtcdClient.Stream?>(nil)
        let opened = client.stream(
            Self.watch,
            EtcdRequest.watch(key, from: now.place.number),
            timeout: Self.endTimeout,
            take: { [weak self] message in
                let answer = try? EtcdWatchAnswer(message[...])
                self?.enqueue { log in
                    let opened = stream.read { $0 }
                    if let failure = log.client.hears(answer?.header.cluster, on: opened) {
                        return log.ends(failure, now.generation)
                    }
                    guard let compacted = answer?.compacted, compacted > 0 else { return }
                    found.write { $0 = true }
                    opened?.cancel()
                    log.look(behind: compacted, now)
                }
            },
            end: { [weak self] failure in
                self?.enqueue { log in
                    if !found.read({ $0 }) { log.ends(failure, now.generation) }
                }
            }
        )
        guard let opened else { return ends(.unconnected, now.generation) }
        stream.write { $0 = opened }
    }

    /// Looks at the key at the first revision that etcd has: if that is the entry at the place,
    /// etcd has forgotten nothing after the place.
    func look(behind compacted: UInt64, _ now: Following) {
        ask(EtcdRequest.range(key, at: compacted), now) { log, answer in
            // etcd has just forgotten more.
            guard let answer else { return log.ends(.unconnected, now.generation) }
            let value = answer.values.first
            if let value, let reason = log.objection(to: value, now) {
                log.leaves(reason, now)
            } else if LogPlace(value?.modified ?? 0) > now.place {
                // Also if it is the next entry: the one at the place cannot be compared any more.
                if log.isCurrent(now) { now.receive(.compacted) }
            } else if value == nil, now.place != .start {
                log.leaves("\(log.name) was not there at revision \(compacted).", now)
            } else {
                log.checked(value, from: compacted + 1, now, answer)
            }
        }
    }

    /// Asks for the key; the answer is nil if etcd has forgotten the requested revision.
    func ask(
        _ request: [UInt8],
        _ now: Following,
        _ take: @escaping @Sendable (EtcdLog, EtcdAnswer?) -> Void
    ) {
        client.send(
            EtcdClient.range,
            request,
            .range,
            for: .log,
            timeout: Self.endTimeout
        ) { [weak self] result in
            self?.enqueue { log in
                switch result {
                case .success(let answer): take(log, answer)
                case .failure(let failure) where failure.isCompacted: take(log, nil)
                case .failure(let failure): log.ends(failure, now.generation)
                }
            }
        }
    }

    func isCurrent(_ now: Following) -> Bool {
        following.read { $0?.generation == now.generation }
    }

    /// The log is that of the place, as far as this can be checked.
    func checked(
        _ last: EtcdKeyValue?,
        from revision: UInt64,
        _ now: Following,
        _ answer: EtcdAnswer
    ) {
        let isCurrent = following.write { following in
            guard following?.generation == now.generation else { return false }
            following?.isChecked = true
            following?.from = revision
            return true
        }
        guard isCurrent else { return }
        if let last { now.receive(.last(LogPlace(last.modified), last.value)) }
        identifies(answer.header.cluster, answer.values.first?.created, now)
        connect()
    }

    /// Reports the identity of the log, unless it was reported last.
    func identifies(_ cluster: UInt64, _ made: UInt64?, _ now: Following) {
        if let made { created.write { $0 = made } }
        let identity = LogIdentity(etcd: cluster, created: created.read { $0 })
        let isNew = following.write { following in
            guard following?.generation == now.generation else { return false }
            defer { following?.identity = identity }
            return following?.identity != identity
        }
        if isNew { now.receive(.identified(identity)) }
    }
}
