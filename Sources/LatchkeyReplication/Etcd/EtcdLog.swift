internal import Dispatch
internal import LatchkeySync

/// A log as the values that one key of etcd has had.
///
/// Each put of the key is an entry, and its place is the revision of etcd that it has made. A watch
/// of the key delivers all values in the order of revisions, each once
/// (https://etcd.io/docs/v3.4/learning/api_guarantees/).
///
/// **Design.** `queue` does all that follows: it opens a watch, checks what comes, and opens the
/// next one behind the last place that came, when one ends. The server sends no more than a window
/// ahead of what was received, so the backlog of one that is late or waits for its disk stays
/// there. The answers of other calls come on the thread of their connection. A watch asks for a
/// leader: else one at a member without quorum would stay silent.
package final class EtcdLog: ReplicatedLog {
    private struct Following: Sendable {
        var place: LogPlace
        /// The revision of etcd from which the next watch delivers.
        var from: UInt64 = 0
        let receive: @Sendable (LogEvent) -> Void
        /// Counts the watches, so that what a former one sends is known.
        var generation: UInt64 = 0
        var stream: EtcdClient.Stream?
        /// Of the stream, what was executed and is not said yet.
        var consumed = 0
        var isConnected = false
        /// Whether the end of the log was compared with the place.
        var isChecked = false
    }

    private static let put = "/etcdserverpb.KV/Put"
    private static let range = "/etcdserverpb.KV/Range"
    private static let watch = "/etcdserverpb.Watch/Watch"
    /// etcd answers after 7 s that it has no quorum; others who wait are told before.
    private static let appendTimeout = Duration.seconds(8)
    private static let endTimeout = Duration.milliseconds(1500)

    private let client: EtcdClient
    private let key: [UInt8]
    private let queue = DispatchQueue(label: "latchkey.etcd.log", qos: .userInitiated)
    private let following = Guarded<Following?>(nil)

    package init(_ client: EtcdClient, key: [UInt8]) {
        self.client = client
        self.key = key
    }

    package func append(
        _ entry: [UInt8],
        completion: @escaping @Sendable (LogAppend) -> Void
    ) {
        client.send(
            Self.put,
            EtcdRequest.put(key, entry),
            .put,
            timeout: Self.appendTimeout
        ) { result in
            switch result {
            case .success: completion(.appended)
            case .failure(let failure): completion(LogAppend(failure))
            }
        }
    }

    package func end(completion: @escaping @Sendable (LogPlace?) -> Void) {
        client.send(
            Self.range,
            EtcdRequest.range(key, isKeysOnly: true),
            .range,
            timeout: Self.endTimeout
        ) { result in
            guard case .success(let answer) = result else { return completion(nil) }
            completion(LogPlace(answer.values.first?.modified ?? 0))
        }
    }

    package func moveOn() {
        client.moveOn()
    }

    package func follow(
        after place: LogPlace,
        receive: @escaping @Sendable (LogEvent) -> Void
    ) {
        let former = following.write { following in
            let former = following
            following = Following(place: place, receive: receive)
            following?.generation = (former?.generation ?? 0) + 1
            return former
        }
        former?.stream?.cancel()
        queue.async { [self] in connect() }
    }

    /// Ends the connection to etcd: behind the call nothing is received or put any more.
    package func stop() {
        let former = following.write { $0.take() }
        former?.stream?.cancel()
        client.close()
        // What came before is executed.
        queue.sync {}
    }

    private func enqueue(_ body: @escaping @Sendable (EtcdLog) -> Void) {
        queue.async { [self] in body(self) }
    }

    /// Compares the place with the end of the log, and opens a watch behind it.
    private func connect() {
        guard let now = following.read({ $0 }) else { return }
        guard now.isChecked else { return check(now) }
        let generation = now.generation
        let stream = client.stream(
            Self.watch,
            EtcdRequest.watch(key, from: now.from),
            take: { [weak self] message in
                self?.enqueue { $0.take(message, generation) }
            },
            end: { [weak self] failure in
                self?.enqueue { $0.ends(failure, generation) }
            }
        )
        guard let stream else { return ends(.unconnected, generation) }
        let isCurrent = following.write { following in
            guard following?.generation == generation else { return false }
            following?.stream = stream
            following?.consumed = 0
            return true
        }
        if !isCurrent { stream.cancel() }
    }

    /// A log that ends before the place is another one, or was restored from an earlier backup.
    private func check(_ now: Following) {
        ask(EtcdRequest.range(key)) { log, result in
            let answer: EtcdAnswer
            switch result {
            case .success(let success): answer = success
            case .failure(let failure): return log.ends(failure, now.generation)
            }
            let end = LogPlace(answer.values.first?.modified ?? 0)
            if end < now.place {
                if log.isCurrent(now) { now.receive(.wentBack(end: end)) }
            } else if end == now.place {
                // All between is other keys', and etcd can have forgotten it.
                log.checked(answer.values.first, from: answer.header.revision + 1, now)
            } else if now.place == .start {
                // From the first entry: what is before is other keys', and can be forgotten.
                log.checked(nil, from: answer.values.first?.created ?? 1, now)
            } else {
                log.look(now)
            }
        }
    }

    /// Looks at the entry at the place, which is not the last one of the log.
    private func look(_ now: Following) {
        ask(EtcdRequest.range(key, at: now.place.number)) { log, result in
            switch result {
            case .success(let answer):
                let last = answer.values.first ?? EtcdKeyValue()
                log.checked(last, from: now.place.number + 1, now)
            // The watch knows whether what is behind the place is forgotten, too.
            case .failure(let failure) where failure.isCompacted:
                log.checked(nil, from: now.place.number + 1, now)
            case .failure(let failure): log.ends(failure, now.generation)
            }
        }
    }

    private func ask(
        _ request: [UInt8],
        _ take: @escaping @Sendable (EtcdLog, Result<EtcdAnswer, EtcdFailure>) -> Void
    ) {
        client.send(Self.range, request, .range, timeout: Self.endTimeout) { [weak self] result in
            self?.enqueue { take($0, result) }
        }
    }

    private func isCurrent(_ now: Following) -> Bool {
        following.read { $0?.generation == now.generation }
    }

    /// The log is that of the place, as far as can be known here.
    private func checked(_ last: EtcdKeyValue?, from revision: UInt64, _ now: Following) {
        let isCurrent = following.write { following in
            guard following?.generation == now.generation else { return false }
            following?.isChecked = true
            following?.from = revision
            return true
        }
        guard isCurrent else { return }
        if let last { now.receive(.last(LogPlace(last.modified), last.value)) }
        connect()
    }

    private func take(_ message: [UInt8], _ generation: UInt64) {
        guard let now = following.read({ $0 }), now.generation == generation else { return }
        defer { consume(message, generation) }
        let answer: EtcdWatchAnswer
        do throws(ProtobufReader.InvalidMessage) {
            answer = try EtcdWatchAnswer(message[...])
        } catch {
            return ends(.invalid, generation)
        }
        client.succeeds()
        var last = now.place
        for value in answer.values where value.modified > last.number {
            let place = LogPlace(value.modified)
            last = place
            following.write { $0?.place = place }
            now.receive(.entry(place, value.value))
        }
        if answer.isCancelled {
            if answer.compacted > 0 {
                now.receive(.compacted)
            } else {
                ends(.invalid, generation)
            }
        } else if !now.isConnected {
            following.write { $0?.isConnected = true }
            now.receive(.connected)
        }
    }

    /// Has the server send more, once a part of the window is free.
    private func consume(_ message: [UInt8], _ generation: UInt64) {
        let (stream, count) = following.write { following -> (EtcdClient.Stream?, Int) in
            guard let now = following, now.generation == generation else { return (nil, 0) }
            let count = now.consumed + RPCChannel.windowByteCount(message)
            let isDue = count >= RPCChannel.consumedByteCount
            following?.consumed = isDue ? 0 : count
            return (isDue ? now.stream : nil, count)
        }
        stream?.consume(count)
    }

    /// Opens the next watch after a pause.
    private func ends(_ failure: EtcdFailure, _ generation: UInt64) {
        let now = following.write { following -> Following? in
            guard let now = following, now.generation == generation else { return nil }
            following?.generation += 1
            following?.stream = nil
            following?.isConnected = false
            // Another member, or the same one behind a restart, can be one of another log.
            following?.isChecked = false
            return now
        }
        guard let now else { return }
        now.stream?.cancel()
        now.receive(.disconnected(client.trouble ?? failure.reason))
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(client.pause / .nanoseconds(1)))) {
            [weak self] in self?.connect()
        }
    }
}

extension LogAppend {
    /// What a failed put means for its entry.
    init(_ failure: EtcdFailure) {
        switch failure {
        case .status(let status)
        where status.reason.contains("request is too large")
            || status.reason.contains("larger than max"):
            // The first one is etcd's own bound, the second one that of gRPC, which is greater.
            self = .tooLarge(failure.reason)
        case .status(let status) where status.reason.contains("database space exceeded"):
            self = .full(failure.reason)
        case .unconnected, .invalid, .status:
            self = .unknown(failure.reason)
        }
    }
}
