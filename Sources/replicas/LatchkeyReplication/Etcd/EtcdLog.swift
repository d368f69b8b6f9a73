internal import Dispatch
internal import LatchkeySync

/// A log as the values that one key of etcd has had.
///
/// Each put of the key is an entry, and its place is the revision of etcd that it has made. A watch
/// of the key delivers all values in the order of revisions, each once
/// (https://etcd.io/docs/v3.4/learning/api_guarantees/).
///
/// **Design.** `queue` does all the following: it opens a watch, checks its answers, and when the
/// watch ends, opens the next one after the last place that came. The server sends at most a window
/// ahead of consumption, so the backlog of a replica that is late or waits for its disk stays at
/// the server. The answers of other calls come on the thread of their connection. A watch requires
/// a leader: else a watch at a member without quorum would stay silent.
///
/// Before each watch the key is compared with the place and with the known identity of the log:
/// another member, or the same one after a restart, can have another log. If etcd has forgotten the
/// entry at the place, the first revision that it still has shows whether entries are missing.
package final class EtcdLog: ReplicatedLog {
    struct Following: Sendable {
        var place: LogPlace
        /// The revision of etcd from which the next watch delivers.
        var from: UInt64 = 0
        let receive: @Sendable (LogEvent) -> Void
        /// Counts the watches, so that answers of a former one are recognized.
        var generation: UInt64 = 0
        var stream: EtcdClient.Stream?
        /// The executed bytes of the stream that are not reported as consumed yet.
        var consumed = 0
        var isConnected = false
        /// Whether the end of the log was compared with the place.
        var isChecked = false
        /// The identity that `receive` was told last.
        var identity: LogIdentity?
    }

    static let watch = "/etcdserverpb.Watch/Watch"
    /// etcd answers after 7 s that it has no quorum; clients that wait are told before.
    private static let appendTimeout = Duration.seconds(8)
    static let endTimeout = Duration.milliseconds(1500)

    let client: EtcdClient
    let key: [UInt8]
    private let queue = DispatchQueue(label: "latchkey.etcd.log", qos: .userInitiated)
    let following = Guarded<Following?>(nil)
    /// The revision at which the key was made, once it is known.
    let created: Guarded<UInt64?>

    /// - Parameters:
    ///   - client: The connection.
    ///   - key: The one whose values are the log.
    ///   - log: The known identity of the log; another log is reported, and not followed.
    package init(_ client: EtcdClient, key: [UInt8], log: LogIdentity? = nil) {
        self.client = client
        self.key = key
        created = Guarded(log?.created)
        if let log { client.expect(cluster: log.etcd) }
    }

    package func append(
        _ entry: [UInt8],
        completion: @escaping @Sendable (LogAppend) -> Void
    ) {
        client.send(
            EtcdClient.put,
            EtcdRequest.put(key, entry),
            .put,
            for: .log,
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
            EtcdClient.range,
            EtcdRequest.range(key, isKeysOnly: true),
            .range,
            for: .log,
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

    /// Ends the connection to etcd: after the call nothing is received or put any more.
    package func stop() {
        let former = following.write { $0.take() }
        former?.stream?.cancel()
        client.close()
        // Waits until the entries that came before are executed.
        queue.sync {}
    }

    func enqueue(_ body: @escaping @Sendable (EtcdLog) -> Void) {
        queue.async { [self] in body(self) }
    }

    /// Compares the place with the end of the log, and opens a watch after it.
    func connect() {
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

    private func take(_ message: [UInt8], _ generation: UInt64) {
        guard let now = following.read({ $0 }), now.generation == generation else { return }
        defer { consume(message, generation) }
        let answer = try? EtcdWatchAnswer(message[...])
        if let failure = client.hears(answer?.header.cluster, on: now.stream) {
            return ends(failure, generation)
        }
        guard let answer else { return ends(.invalid, generation) }
        for event in answer.events where event.value.modified > now.place.number {
            guard take(event, answer.header.cluster, now) else { return }
        }
        if answer.isCancelled {
            if answer.compacted > 0 {
                // The stream of a cancelled watch stays open until it is ended here.
                let next = following.write { following -> Following? in
                    following?.generation += 1
                    return following
                }
                now.stream?.cancel()
                if let next { look(behind: answer.compacted, next) }
            } else {
                // Also for a missing right to read: then there is no gRPC status.
                let failure = EtcdFailure(cancelled: answer.reason)
                if let call = now.stream?.call { client.notes(failure, call) }
                ends(failure, generation)
            }
        } else if !now.isConnected {
            following.write { $0?.isConnected = true }
            now.receive(.connected)
        }
    }

    /// Delivers an entry; false if the log has ended.
    private func take(_ event: EtcdWatchAnswer.Event, _ cluster: UInt64, _ now: Following) -> Bool {
        let value = event.value
        if event.isDeletion {
            leaves("\(name) was deleted at revision \(value.modified).", now)
            return false
        }
        if let known = created.read({ $0 }), value.created != known {
            leaves(madeAgain(value, known), now)
            return false
        }
        // Not for each entry: usually the identity is still the same.
        if now.identity?.created != value.created { identifies(cluster, value.created, now) }
        let place = LogPlace(value.modified)
        let isCurrent = following.write { following in
            guard following?.generation == now.generation else { return false }
            following?.place = place
            return true
        }
        if isCurrent { now.receive(.entry(place, value.value)) }
        return isCurrent
    }

    /// Ends for good: this is another log.
    func leaves(_ reason: String, _ now: Following) {
        let former = following.write { following -> Following? in
            guard following?.generation == now.generation else { return nil }
            return following.take()
        }
        guard let former else { return }
        former.stream?.cancel()
        now.receive(.otherLog(reason))
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
    func ends(_ failure: EtcdFailure, _ generation: UInt64) {
        let now = following.write { following -> Following? in
            guard var now = following, now.generation == generation else { return nil }
            following?.generation += 1
            now.generation += 1
            following?.stream = nil
            following?.isConnected = false
            // Another member, or the same one after a restart, can have another log.
            following?.isChecked = false
            return now
        }
        guard let now else { return }
        now.stream?.cancel()
        if case .onlyStrangers(let reason) = client.membership {
            return leaves("\(reason) etcd was restored or replaced.", now)
        }
        now.receive(.disconnected(client.trouble ?? failure.reason))
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(client.pause / .nanoseconds(1)))) {
            [weak self] in
            if self?.isCurrent(now) == true { self?.connect() }
        }
    }
}
