internal import Foundation
package import LatchkeyStore

/// What the replicas of a cluster tell each other beside the log, as keys of etcd.
///
/// The keys are `/latchkey/settings/NAME`, and `/latchkey/replicas/NAME/ID` for each replica. The
/// log is the key `/latchkey/logs/NAME`.
///
/// **Design.** No state: each function is one to three calls. A record of a replica stays when the
/// replica is gone, because the log must be kept for its return; ``bound(of:at:)`` says for how
/// long.
package struct ClusterDirectory: Sendable {
    /// What a replica says of itself.
    package struct Record: Codable, Sendable, Equatable {
        /// Where other replicas can get its state; empty if they cannot.
        package var url: String
        /// The place in the log that its files have.
        package var place: UInt64
        package var revision: UInt64
        package var state: String
        /// When it has said so, by its own clock, in milliseconds since 1970.
        package var time: Int64
        /// The latest format of entries that it reads, which is that of the latest rules that it
        /// knows; nil for the first ones.
        package var format: UInt8?
        /// The process that says it: a random number.
        ///
        /// Nil in 0.1.
        package var process: UInt64?
        /// Whether the log is kept for it; nil for yes.
        ///
        /// A replica that cannot use the log any more says no.
        package var needsLog: Bool?
        /// Whether its disk is full, or nearly so; nil for no.
        ///
        /// Earlier versions say nothing of it, and pass it over.
        package var isFull: Bool?

        package init(
            url: String,
            place: UInt64,
            revision: UInt64,
            state: String,
            time: Int64,
            format: UInt8? = RuleLevel.current.rawValue
        ) {
            self.format = format
            self.url = url
            self.place = place
            self.revision = revision
            self.state = state
            self.time = time
        }
    }

    /// Why there is no answer.
    package struct Failure: Error, Equatable, Sendable {
        package let reason: String
    }

    /// How long the log is kept for a replica that says nothing.
    static let absenceMilliseconds: Int64 = 3_600_000

    private static let delete = "/etcdserverpb.KV/DeleteRange"
    private static let transaction = "/etcdserverpb.KV/Txn"
    private static let compaction = "/etcdserverpb.KV/Compact"
    private static let timeout = Duration.seconds(3)

    private let client: EtcdClient
    private let name: String

    package init(_ client: EtcdClient, name: String) {
        self.client = client
        self.name = name
    }

    private static let logs = "/latchkey/logs/"

    /// The key whose values are the log.
    package var logKey: [UInt8] { Array("\(Self.logs)\(name)".utf8) }

    private var settingsKey: [UInt8] { Array("/latchkey/settings/\(name)".utf8) }

    private static let replicas = "/latchkey/replicas/"

    private func recordKey(_ identity: String) -> [UInt8] {
        Array("\(Self.replicas)\(name)/\(identity)".utf8)
    }

    /// Says settings that all replicas must have, unless the cluster has some.
    ///
    /// - Parameters:
    ///   - settings: Those of this replica.
    ///   - completion: Given those that the cluster has.
    package func agree(
        on settings: [UInt8],
        completion: @escaping @Sendable (Result<[UInt8], Failure>) -> Void
    ) {
        client.send(
            Self.transaction,
            EtcdRequest.putIfMissing(settingsKey, settings),
            .transaction,
            for: .settings,
            timeout: Self.timeout
        ) { result in
            completion(
                result.mapError { Failure(reason: $0.reason) }
                    .map { $0.isSuccess ? settings : $0.values.first?.value ?? [] }
            )
        }
    }

    /// Asks for the settings of the cluster: nil if there are none.
    package func settings(completion: @escaping @Sendable (Result<[UInt8]?, Failure>) -> Void) {
        client.send(
            EtcdClient.range,
            EtcdRequest.range(settingsKey),
            .range,
            for: .settings,
            timeout: Self.timeout
        ) { result in
            completion(
                result.mapError { Failure(reason: $0.reason) }.map { $0.values.first?.value }
            )
        }
    }

    /// Changes the settings of the cluster, unless they are not these any more.
    ///
    /// - Parameters:
    ///   - settings: What they are.
    ///   - changed: What they become.
    ///   - completion: Told whether they are changed.
    package func change(
        _ settings: [UInt8],
        to changed: [UInt8],
        completion: @escaping @Sendable (Result<Bool, Failure>) -> Void
    ) {
        client.send(
            Self.transaction,
            EtcdRequest.putIfEqual(settingsKey, settings, changed),
            .transaction,
            for: .settings,
            timeout: Self.timeout
        ) { result in
            completion(result.mapError { Failure(reason: $0.reason) }.map(\.isSuccess))
        }
    }

    /// Says what a replica is doing.
    package func say(
        _ record: Record,
        of identity: String,
        completion: @escaping @Sendable (Failure?) -> Void
    ) {
        guard let json = try? JSONEncoder().encode(record) else {
            preconditionFailure("Numbers and texts can be written as JSON.")
        }
        client.send(
            EtcdClient.put,
            EtcdRequest.put(recordKey(identity), Array(json)),
            .put,
            for: .record,
            timeout: Self.timeout
        ) { result in
            guard case .failure(let failure) = result else { return completion(nil) }
            completion(Failure(reason: failure.reason))
        }
    }

    /// Removes the record of a replica.
    package func remove(
        _ identity: String,
        completion: @escaping @Sendable (Failure?) -> Void
    ) {
        client.send(
            Self.delete,
            EtcdRequest.delete(recordKey(identity)),
            .put,
            for: .record,
            timeout: Self.timeout
        ) { result in
            guard case .failure(let failure) = result else { return completion(nil) }
            completion(Failure(reason: failure.reason))
        }
    }

    /// Asks for the revision of etcd at which the log's key was made; nil if it is not there.
    package func logStart(completion: @escaping @Sendable (Result<UInt64?, Failure>) -> Void) {
        client.send(
            EtcdClient.range,
            EtcdRequest.range(logKey, isKeysOnly: true),
            .range,
            for: .log,
            timeout: Self.timeout
        ) { result in
            completion(
                result.mapError { Failure(reason: $0.reason) }.map { $0.values.first?.created }
            )
        }
    }

    /// The records of all replicas, by their identities; also of other clusters, if they are
    /// wanted, by their names before the identities.
    package func records(
        ofAll isAll: Bool = false,
        completion: @escaping @Sendable (Result<[String: Record], Failure>) -> Void
    ) {
        let prefix = Array((isAll ? Self.replicas : "\(Self.replicas)\(name)/").utf8)
        client.send(
            EtcdClient.range,
            EtcdRequest.range(prefix, isPrefix: true),
            .range,
            for: .records,
            timeout: Self.timeout
        ) { result in
            completion(
                result.mapError { Failure(reason: $0.reason) }.map { answer in
                    var records: [String: Record] = [:]
                    for value in answer.values {
                        let rest = value.key.dropFirst(prefix.count)
                        guard
                            let record = try? JSONDecoder()
                                .decode(Record.self, from: Data(value.value))
                        else { continue }
                        records[String(decoding: rest, as: UTF8.self)] = record
                    }
                    return records
                }
            )
        }
    }

    /// The latest rules that all replicas know that have said something for some time; the first
    /// ones if none has.
    package static func rules(
        of records: [String: Record],
        heardWithin milliseconds: Int64,
        at now: Int64
    ) -> RuleLevel {
        let recent = records.values.filter { now &- $0.time < milliseconds }
        let lowest = recent.map { $0.format ?? RuleLevel.first.rawValue }.min()
        return RuleLevel(atMost: lowest ?? RuleLevel.first.rawValue)
    }

    /// Asks whether the log has all entries since its first one.
    package func hasStart(completion: @escaping @Sendable (Result<Bool, Failure>) -> Void) {
        let (client, key) = (client, logKey)
        logStart { result in
            switch result {
            case .failure(let failure): completion(.failure(failure))
            case .success(let first):
                guard let first else { return completion(.success(true)) }
                client.send(
                    EtcdClient.range,
                    EtcdRequest.range(key, at: first, isKeysOnly: true),
                    .range,
                    for: .log,
                    timeout: Self.timeout
                ) { result in
                    switch result {
                    case .success: completion(.success(true))
                    case .failure(let failure) where failure.isCompacted:
                        completion(.success(false))
                    case .failure(let failure):
                        completion(.failure(Failure(reason: failure.reason)))
                    }
                }
            }
        }
    }

    /// Has etcd forget what no replica of any cluster needs.
    ///
    /// - Parameters:
    ///   - now: The calendar's time, in milliseconds.
    ///   - completion: Given the place from which on etcd keeps all; nil if nothing was done.
    package func compact(
        at now: Int64,
        completion: @escaping @Sendable (LogPlace?) -> Void
    ) {
        let client = client
        records(ofAll: true) { result in
            guard case .success(let records) = result else { return completion(nil) }
            // Asked behind the records: so no place of theirs is behind an end that is not known.
            client.send(
                EtcdClient.range,
                EtcdRequest.range(Array(Self.logs.utf8), isPrefix: true, isKeysOnly: true),
                .range,
                for: .compaction,
                timeout: Self.timeout
            ) { result in
                guard case .success(let answer) = result,
                    let bound = Self.bound(of: records, Ends(answer), at: now)
                else { return completion(nil) }
                client.send(
                    Self.compaction,
                    EtcdRequest.compact(bound.number),
                    .put,
                    for: .compaction,
                    timeout: Self.timeout
                ) { result in
                    if case .success = result { completion(bound) } else { completion(nil) }
                }
            }
        }
    }

    /// Where the logs end, by the names of their clusters, and etcd itself.
    struct Ends {
        var logs: [String: LogPlace]
        var all: LogPlace

        init(logs: [String: LogPlace], all: LogPlace) {
            self.logs = logs
            self.all = all
        }

        init(_ answer: EtcdAnswer) {
            all = LogPlace(answer.header.revision)
            logs = [:]
            for value in answer.values {
                let name = value.key.dropFirst(ClusterDirectory.logs.utf8.count)
                logs[String(decoding: name, as: UTF8.self)] = LogPlace(value.modified)
            }
        }
    }

    /// The place up to which no replica needs etcd's history: the lowest of those that were heard
    /// of in the last hour; and of each cluster at least the highest one, whenever that was heard
    /// of.
    ///
    /// Replicas that cannot use the log any more need nothing. What a cluster has acknowledged last
    /// can be in the log alone. So one whose replicas are all gone for long finds its log when they
    /// come back. A replica whose place is the end of its log needs nothing: so one without changes
    /// does not hold what others write.
    static func bound(of records: [String: Record], _ ends: Ends, at now: Int64) -> LogPlace? {
        let needing = records.filter { $0.value.needsLog != false }
        let clusters = Dictionary(grouping: needing) { String($0.key.prefix { $0 != "/" }) }
        let bounds = clusters.map { name, cluster in
            let recent = cluster.filter { now &- $0.value.time < absenceMilliseconds }
            let place =
                recent.map(\.value.place).min() ?? cluster.map(\.value.place).max() ?? 0
            return LogPlace(place) < ends.logs[name] ?? .start ? LogPlace(place) : ends.all
        }
        return bounds.min().flatMap { $0 == .start ? nil : $0 }
    }
}
