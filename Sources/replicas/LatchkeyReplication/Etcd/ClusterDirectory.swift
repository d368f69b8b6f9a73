internal import Foundation
package import LatchkeyStore

/// The information that the replicas of a cluster share beside the log, as keys of etcd.
///
/// The keys are `/latchkey/settings/NAME`, and `/latchkey/replicas/NAME/ID` for each replica. The
/// log is the key `/latchkey/logs/NAME`.
///
/// **Design.** No state: each function is one to three calls. A record of a replica stays when the
/// replica is gone, because the log must be kept for its return; ``bound(of:_:at:)`` says for how
/// long.
package struct ClusterDirectory: Sendable {
    /// The record of a replica.
    package struct Record: Codable, Sendable, Equatable {
        /// Where other replicas can get its state; empty if they cannot.
        package var url: String
        /// The place in the log that its files have.
        package var place: UInt64
        package var revision: UInt64
        package var state: String
        /// When the record was written, by the replica's own clock, in milliseconds since 1970.
        package var time: Int64
        /// The latest format of entries that it reads, which is that of the latest rules that it
        /// knows; nil for the first ones.
        package var format: UInt8?
        /// The process that has written it: later processes have greater numbers.
        ///
        /// Nil in 0.1.
        package var process: UInt64?
        /// Whether the log is kept for it; nil for yes.
        ///
        /// A replica that cannot use the log any more says no.
        package var needsLog: Bool?
        /// Whether its disk is full, or nearly so; nil for no.
        ///
        /// Earlier versions do not write it, and ignore it.
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

    /// How long the log is kept for a silent replica.
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

    /// Sets the settings that all replicas must have, unless the cluster has some.
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

    /// Changes the settings of the cluster, if they are still the expected ones.
    ///
    /// - Parameters:
    ///   - settings: The expected settings.
    ///   - changed: The new settings.
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

    /// Writes the record of a replica.
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

    /// Asks for the records of all replicas, by identity; or of all clusters, by name and identity
    /// with a slash between them.
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

    /// The latest rules that all replicas with a recent record know; the first ones if there is no
    /// such replica.
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

    /// Lets etcd forget the history that no replica of any cluster needs.
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
            // Asked after the records: so no place in a record is after the end of its log.
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

    /// The ends of the logs, by the names of their clusters, and of etcd itself.
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

    /// The place up to which no replica needs etcd's history.
    ///
    /// It is the lowest place of all clusters. That of a cluster is the lowest place in records of
    /// the last hour; without such a record, the highest place in any record.
    ///
    /// Replicas that cannot use the log any more need nothing. The last acknowledged changes of a
    /// cluster can be in the log alone. So a cluster whose replicas were all gone for long finds
    /// its log when they come back. A replica whose place is the end of its log needs nothing: so a
    /// cluster without changes does not keep the history of others.
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
