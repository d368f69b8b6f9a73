package import LatchkeyAccess
package import LatchkeyContention
package import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyOperations
package import LatchkeyPersistence
package import LatchkeyReplicas
package import LatchkeySettings
package import LatchkeyStore
package import LatchkeyStrategies
package import LatchkeyWatches

/// The choices that the service is started with.
package struct ServiceConfiguration: Sendable {
    package var strategy = StrategyKind.standard
    package var stripeCount = StripeCount.standard
    /// How many writes of one stripe an asynchronous strategy accepts before it applies them.
    package var backlogMax = BacklogBound.standard
    package var metering = MeteringLevel.sampled
    /// Whether contended accesses are recorded with their places in the code.
    ///
    /// Needs metering.
    package var isProfiling = false
    /// The revision before the first commit; nil for one from the time of the start.
    package var startRevision: Revision?
    package var persistence = PersistenceSettings()
    package var follow = FollowSettings()
    package var cluster = ClusterSettings()
    package var storeLimits = StoreLimits()
    package var watchLimits = WatchLimits()
    package var historyLimits = HistoryLimits()
    package var operationLimits = OperationLimits.standard
    package var fetching = FetchLimits()
    /// Makes the comparisons of operations; nil if the program makes none.
    package var compare: OperationEnvironment.Compare?
    package var idempotency = IdempotencyLimits()
    /// How many exports are sent at the same time.
    package var exportCountMax = ForeignBounds.exportCountMax
    /// How many bytes the bodies of all unsent answers hold.
    package var answerByteCountMax = 256 * 1024 * 1024
    package var access = AccessSettings()
    package var tls = TLSSettings()
    package var rate = RateSettings()
    package var audit = AuditSettings()
    package var http = HTTPServerConfiguration()
    /// A second port for probes, monitoring and profiles; nil for none, 0 for a free one.
    package var adminPort: UInt16?
    /// Names of hosts that are served besides local ones.
    ///
    /// Nil serves all; `[]` serves local names on a loopback address, and all on others.
    package var allowedHosts: [String]? = []
    /// Origins whose pages may use the service besides its own.
    package var allowedOrigins: [String] = []
    /// How long requests are served after the signal that ends the service, before it drains.
    package var shutdownDelay = Duration.zero
    package var drainTime = Duration.seconds(10)
    package var sendsServerTiming = false
    package var logFormat = Log.Format.text
    package var logLevel = Log.Level.info
    package var recording = RecordingSettings()
    package var program = ProgramVersion("0")
    /// Sentences that are logged at the start.
    package var startWarnings: [String] = []

    package init() {}

    /// How a leader, or other replicas, are reached.
    private var peers: PeerSettings {
        get { cluster.peers }
        set { (follow.peers, cluster.peers) = (newValue, newValue) }
    }
}

extension ServiceConfiguration: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] =
        strategySettings
        + [startRevisionSetting]
        + PersistenceSettings.settings.map { $0.contained(in: \.persistence) }
        + FollowSettings.settings.map { $0.contained(in: \.follow) }
        + ClusterSettings.settings.map { $0.contained(in: \.cluster) }
        + PeerSettings.settings.map { $0.contained(in: \.peers) }
        + StoreLimits.settings.map { $0.contained(in: \.storeLimits) }
        + HistoryLimits.settings.map { $0.contained(in: \.historyLimits) }
        + OperationLimits.settings.map { $0.contained(in: \.operationLimits) }
        + FetchLimits.settings.map { $0.contained(in: \.fetching) }
        + IdempotencyLimits.settings.map { $0.contained(in: \.idempotency) }
        + WatchLimits.settings.map { $0.contained(in: \.watchLimits) }
        + AccessSettings.settings.map { $0.contained(in: \.access) }
        + TLSSettings.settings.map { $0.contained(in: \.tls) }
        + RateSettings.settings.map { $0.contained(in: \.rate) }
        + AuditSettings.settings.map { $0.contained(in: \.audit) }
        + HTTPServerConfiguration.settings.map { $0.contained(in: \.http) }
        + [adminPortSetting]
        + RecordingSettings.settings.map { $0.contained(in: \.recording) }
        + ownSettings

    private static let strategySettings: [Setting<Self>] = [
        .choice(
            "strategy",
            \.strategy,
            "The strategy that guards the properties. 'latchkey strategies' prints the list."
        ),
        Setting(
            "stripes",
            .powerOfTwo(1...StripeCount.max),
            \.stripeCount,
            "The number of stripes of properties, each with a lock of its own. The strategy "
                + "actor always has 1.",
            text: { "\($0)" },
            value: { Int($0) }
        ),
        .integer(
            "backlog",
            \.backlogMax,
            1...1_000_000,
            "The writes that an asynchronous strategy accepts for a stripe before it applies "
                + "them. Further ones get status 503."
        ),
        .choice(
            "metering",
            \.metering,
            "How contention is measured: not at all, by counts, or by the times of a sample or "
                + "of all accesses."
        ),
        .toggle(
            "profile",
            \.isProfiling,
            "Records where in the code accesses wait, and for which others. One contended access "
                + "in 100 is recorded; /debug/pprof/mutex has the profile. Needs metering."
        ),
    ]

    /// The greatest revision that a store can start after.
    ///
    /// It leaves 2⁵² revisions that are exact in JSON.
    private static let startRevisionMax: Revision = 1 << 52

    private static let startRevisionSetting = Setting<Self>(
        "start-revision",
        .spelling(
            placeholder: "REVISION",
            help: "clock, or a whole number up to \(startRevisionMax)",
            isRight: { $0 == "clock" || Revision($0).map { $0 <= startRevisionMax } ?? false }
        ),
        \.startRevision,
        "The revision before the first change. clock is 1048576 for each second since 1970, so "
            + "that no revision comes twice. If the clock can be late at the start, give a "
            + "number above all earlier revisions. With --data, it is for a new folder only.",
        text: { $0.map { "\($0)" } ?? "clock" },
        value: { .some(Revision($0)) }
    )

    private static let adminPortSetting = Setting<Self>(
        "admin-port",
        .spelling(
            placeholder: "PORT",
            help: "none, or a port from 0 to 65535; 0 picks a free one",
            isRight: { $0 == "none" || UInt16($0) != nil && $0.first != "+" }
        ),
        \.adminPort,
        "A second port on --host, with connections of its own, for probes, metrics, the overview, "
            + "contention and profiles, or none. They stay on --port, too. It serves while data is "
            + "read and while the service drains.",
        text: { $0.map { "\($0)" } ?? "none" },
        value: { .some(UInt16($0)) }
    )

    private static let ownSettings: [Setting<Self>] = [
        .integer(
            "answer-bytes",
            \.answerByteCountMax,
            1_048_576...1_099_511_627_776,
            unit: .bytes,
            "The maximum number of bytes that unsent answers hold. Beyond it, requests with long "
                + "answers get status 503, and streams wait until their client has read. Answers "
                + "of up to 256 bytes do not count."
        ),
        Setting(
            "allowed-host",
            .list(
                .spelling(
                    placeholder: "NAME",
                    help: "names of hosts, without a port, or *, or none",
                    isRight: isHostName
                )
            ),
            \.allowedHosts,
            "Names of the service besides localhost, --host and literal addresses, or none. "
                + "Requests for other hosts get status 421; on addresses beyond loopback, only "
                + "if this flag is given. * allows all.",
            text: { names in
                names.map { $0.isEmpty ? "none" : $0.joined(separator: ",") } ?? "*"
            },
            value: { text in
                let names = text.split(separator: ",").map(String.init).filter { $0 != "none" }
                return .some(names.contains("*") ? nil : names)
            }
        ),
        .texts(
            "allow-origin",
            \.allowedOrigins,
            placeholder: "ORIGIN",
            of: "origins as browsers write them, such as https://app.example:8443",
            isRight: AllowedOrigins.isOrigin,
            "Origins whose pages may use the service and read its answers, or none. Requests of "
                + "all other pages get status 403."
        ),
        .seconds(
            "shutdown-delay",
            \.shutdownDelay,
            0...3600,
            "How long requests are still served after SIGTERM or SIGINT, before the drain. "
                + "/readyz is 503 meanwhile, so that load balancers send no more. A second "
                + "signal ends the delay."
        ),
        .seconds(
            "drain-seconds",
            \.drainTime,
            0...86_400,
            "The maximum time for requests in flight to finish after SIGTERM or SIGINT. It "
                + "begins after --shutdown-delay."
        ),
        .toggle(
            "server-timing",
            \.sendsServerTiming,
            "Adds a Server-Timing header with the wait, hold and total time to every answer."
        ),
        .choice(
            "log-format",
            \.logFormat,
            "The format of the log on standard error."
        ),
        .choice(
            "log-level",
            \.logLevel,
            "The lowest level that is logged."
        ),
    ]

    @Sendable private static func isHostName(_ name: String) -> Bool {
        name == "*"
            || name.utf8.allSatisfy { byte in
                byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                    || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
                    || byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
            }
    }
}
