internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyOperations
internal import LatchkeyPersistence
internal import LatchkeyReplicas
package import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyWatches

extension ServiceConfiguration {
    /// Limits that are constants: no operator of the service can choose them well.
    ///
    /// The only table of them. Tests and campaigns change them by ``limitsVariable``, to reach a
    /// limit with little work. No flag does.
    package static let limits: [Setting<Self>] =
        ofData + ofRequests + [rateBurst] + ofOperations + ofRecordings
        + ClusterSettings.limits.map { $0.contained(in: \.cluster) }

    /// The variable that changes limits: `LATCHKEY_LIMITS=max-exports=1,sync-interval=5s`.
    package static let limitsVariable = "LATCHKEY_LIMITS"

    private static let ofData: [Setting<Self>] = [
        .seconds(
            "sync-interval",
            \.persistence.syncInterval,
            1...3600,
            "The time between two writes to the disk with --durability interval."
        ),
        .integer(
            "max-wal-bytes",
            \.persistence.logByteCountMax,
            1 << 20...1 << 40,
            unit: .bytes,
            "Writes are refused while the log of the database is longer."
        ),
        .integer(
            "max-value-bytes",
            \.persistence.valueByteCountMax,
            1...PersistenceSettings.standard.valueByteCountMax,
            unit: .bytes,
            "A value with --data, whatever --max-body-bytes is: a row of SQLite ends at 10⁹."
        ),
        .integer(
            "compact-after",
            \.persistence.compactionCountMin,
            100...1 << 30,
            "Compacts after so many changes, or after a quarter as many as there are properties."
        ),
        .integer(
            "max-transaction-bytes",
            \.storeLimits.transactionByteCountMax,
            1...1_073_741_824,
            unit: .bytes,
            "The values that one transaction compares, increments and merges, while a replica of "
                + "0.1 may be in the cluster."
        ),
    ]

    private static let ofRequests: [Setting<Self>] = [
        .integer(
            "max-target-bytes",
            \.http.targetBytesMax,
            64...65_536,
            unit: .bytes,
            "The path and query of a request."
        ),
        .integer(
            "max-idempotency-keys",
            \.idempotency.keyCountMax,
            1...100_000_000,
            "The keys, and the requests that wait for the answer to another one."
        ),
        .integer(
            "max-exports",
            \.exportCountMax,
            1...65_536,
            "The exports that are sent at the same time."
        ),
        .integer(
            "watch-buffer-bytes",
            \.watchLimits.bufferBytesMax,
            1024...16_777_216,
            unit: .bytes,
            "The bytes that wait for a slow watcher, before it reads from the history."
        ),
        .seconds(
            "keep-alive-seconds",
            \.watchLimits.keepAlive,
            1...3600,
            "The time between two comments of a watch."
        ),
        .seconds(
            "read-behind-proxy-seconds",
            \.watchLimits.readBehindProxy,
            1...60,
            "The longest wait of a read that comes through a trusted proxy."
        ),
        .seconds(
            "session-seconds",
            \.access.sessionTime,
            60...2_592_000,
            "How long the session of a browser lasts."
        ),
    ]

    private static let rateBurst = Setting<Self>(
        "rate-burst",
        .spelling(
            placeholder: "N",
            help: "a whole number from 1 to \(RateSettings.countMax), or rate",
            isRight: { $0 == "rate" || RateSettings.isCount($0) }
        ),
        \.rate.burst,
        default: "the --rate of a second",
        "The requests of one client that can come at once.",
        text: { $0.map { "\($0)" } ?? "rate" },
        value: { .some(Int($0)) }
    )

    private static let ofOperations: [Setting<Self>] = [
        .integer(
            "operation-threads",
            \.operationLimits.executingMax,
            1...256,
            "The operations that execute at once, those that wait included."
        ),
        .integer(
            "operation-history",
            \.operationLimits.historyCountMax,
            0...100_000,
            "The ended operations that are kept."
        ),
        .integer(
            "max-operation-bytes",
            \.operationLimits.byteCountMax,
            1...1_125_899_906_842_624,
            unit: .bytes,
            "All queued operations, and the values of ended ones."
        ),
        .seconds(
            "fetch-timeout-seconds",
            \.fetching.timeLimit,
            1...3600,
            "The time of a fetch, redirects included."
        ),
        .integer(
            "fetch-max-bytes",
            \.fetching.byteCountMax,
            1...1_073_741_824,
            unit: .bytes,
            "The length of what is fetched."
        ),
    ]

    private static let ofRecordings: [Setting<Self>] = [
        Setting(
            "record-sample",
            .share(1...65_536),
            \.recording.sampleInterval,
            "The share of the operations that is recorded, each chosen at random.",
            text: { "1/\($0)" },
            value: { Int($0.dropFirst(2)) }
        ),
        .integer(
            "record-bytes",
            \.recording.byteCountMax,
            4096...1 << 40,
            unit: .bytes,
            "The size at which a recording ends."
        ),
    ]
}

extension ServiceConfiguration {
    /// The settings that are not the defaults: names and values.
    package var changedSettings: [(name: String, value: String)] { changed(Self.settings) }

    /// The limits that are not the constants: names and values.
    package var changedLimits: [(name: String, value: String)] { changed(Self.limits) }

    private func changed(_ settings: [Setting<Self>]) -> [(name: String, value: String)] {
        settings.compactMap { setting in
            let value = setting.text(in: self)
            return value == setting.text(in: .standard) ? nil : (setting.name, value)
        }
    }
}
