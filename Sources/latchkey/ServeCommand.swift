internal import Foundation
internal import LatchkeyContention
internal import LatchkeyService
internal import LatchkeyStore
internal import LatchkeySync

/// `latchkey serve`: the service.
enum ServeCommand {
    private static let defaults = ServiceConfiguration()

    static let flags: [Flag] = stateFlags + listenerFlags + boundFlags + outputFlags

    private static let stateFlags: [Flag] = [
        Flag(
            "strategy",
            .choice(StrategyKind.allCases.map(\.rawValue)),
            default: defaults.strategy.rawValue,
            "What guards the properties. 'latchkey strategies' prints the list."
        ),
        Flag(
            "stripes",
            .integer(1...1024),
            default: "\(defaults.stripeCount)",
            "Over how many independent guards the properties are spread: a power of two. 1 is one "
                + "lock for the whole store. The actor strategy always has 1."
        ),
        Flag(
            "metering",
            .choice(MeteringLevel.allCases.map(\.rawValue)),
            default: defaults.metering.rawValue,
            "How contention is measured: not at all, by counting, by timing a sample of the "
                + "accesses, or by timing all."
        ),
        shadow,
        Flag(
            "shadow-sample",
            .text(placeholder: "1/N"),
            default: "1/\(defaults.shadowInterval)",
            "Which share of the operations is applied to the shadows: all those of one in N "
                + "half-milliseconds, drawn at random. N is from 1 to \(shadowIntervalMax)."
        ),
        Flag(
            "backlog",
            .integer(1...1_000_000),
            default: "\(defaults.backlogMax)",
            "How many writes an asynchronous strategy accepts on one stripe before it applies "
                + "them. Beyond that a write is answered 503."
        ),
    ]

    private static let shadow = Flag(
        "shadow",
        .list(.choice(StrategyKind.allCases.map(\.rawValue) + ["all"])),
        default: "",
        "Strategies that are tried out beside the serving one: a share of the live operations is "
            + "applied to a store under each, whose results are thrown away, and "
            + "/v1/contention and /metrics show them with the role shadow. all is every strategy, "
            + "the serving one too, which shows what the sample alone changes."
    )

    private static let shadowIntervalMax = 65_536

    private static let listenerFlags: [Flag] = [
        Flag(
            "host",
            .text(placeholder: "ADDRESS"),
            default: defaults.host,
            "The address to listen on, or a name for one. 0.0.0.0 or :: listens on all."
        ),
        allowedHost,
        Flag(
            "port",
            .integer(0...65535),
            default: "\(defaults.port)",
            "The port to listen on. 0 picks a free one; the first line of output names it."
        ),
        Flag(
            "http-threads",
            .integer(1...256),
            default: "",
            "How many event-loop threads serve the connections. Default: the number of cores."
        ),
        Flag(
            "thread-per-connection",
            .toggle,
            default: "false",
            "Gives every connection a thread of its own instead. How many threads there are "
                + "decides which strategy wins."
        ),
    ]

    private static let allowedHost = Flag(
        "allowed-host",
        .list(
            .spelling(placeholder: "NAME", help: "names of hosts, without a port, or *") { name in
                name == "*"
                    || name.utf8.allSatisfy { byte in
                        byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
                            || byte == UInt8(ascii: "_") || byte >= 0x30 && byte <= 0x39
                            || byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
                    }
            }
        ),
        default: "",
        "The names under which the service is reached, besides localhost, --host and literal "
            + "addresses. Requests for others are answered 421. Without it that holds on a "
            + "loopback address, and on other addresses every name is served; * serves every name."
    )

    private static let boundFlags: [Flag] = [
        Flag(
            "max-body-bytes",
            .integer(1...(1 << 30)),
            default: "\(defaults.bodyByteCountMax)",
            "How long a request's body can be. A longer one is answered 413."
        ),
        Flag(
            "max-header-bytes",
            .integer(1024...(1 << 20)),
            default: "\(defaults.headerByteCountMax)",
            "How long a request's header fields can be together. Longer ones are answered 431."
        ),
        Flag(
            "max-target-bytes",
            .integer(64...(1 << 16)),
            default: "\(defaults.targetByteCountMax)",
            "How long a request's path and query can be. A longer one is answered 414."
        ),
        Flag(
            "max-json-depth",
            .integer(1...10_000),
            default: "\(defaults.storeLimits.depthMax)",
            "How deep arrays and objects of a value can nest. Deeper ones are answered 400."
        ),
        Flag(
            "max-properties",
            .integer(1...1_000_000_000),
            default: "\(defaults.storeLimits.propertyCountMax)",
            "How many properties there can be. At the bound a new one is answered 507."
        ),
        Flag(
            "max-bytes",
            .integer(1...(1 << 50)),
            default: "\(defaults.storeLimits.byteCountMax)",
            "How long all names and values can be together. At the bound a write that needs more "
                + "is answered 507."
        ),
        Flag(
            "max-connections",
            .integer(1...65_536),
            default: "\(defaults.connectionCountMax)",
            "How many connections there can be. One more is answered 503 and closed."
        ),
        Flag(
            "max-connections-per-address",
            .integer(0...65_536),
            default: "\(defaults.connectionCountPerAddressMax)",
            "How many connections one address can have; 0 for no bound. One more is answered 429 "
                + "and closed."
        ),
        Flag(
            "idle-timeout-seconds",
            .integer(1...86_400),
            default: "\(defaults.idleTimeoutSeconds)",
            "After how long a connection on which nothing happens is closed."
        ),
        Flag(
            "request-timeout-seconds",
            .integer(1...86_400),
            default: "\(defaults.requestTimeoutSeconds)",
            "How long a request can take to arrive. A slower one is answered 408."
        ),
        Flag(
            "answer-timeout-seconds",
            .integer(1...86_400),
            default: "\(defaults.answerTimeoutSeconds)",
            "How long an asynchronous strategy has for an accepted request. A write that takes "
                + "longer is answered 500 outcome-unknown, because it may still take effect, and a "
                + "read 503 timed-out."
        ),
        Flag(
            "drain-seconds",
            .integer(0...86_400),
            default: "\(defaults.drainSeconds)",
            "How long requests that are being served at SIGTERM, SIGINT or SIGHUP get to finish."
        ),
    ]

    private static let outputFlags: [Flag] = [
        Flag(
            "server-timing",
            .toggle,
            default: "false",
            "Adds a Server-Timing header with the wait, hold and total time to every answer."
        ),
        Flag(
            "log-format",
            .choice(Log.Format.allCases.map(\.rawValue)),
            default: defaults.logFormat.rawValue,
            "How the log on standard error is written: one line an event."
        ),
        Flag(
            "log-level",
            .choice(Log.Level.allCases.map(\.rawValue)),
            default: defaults.logLevel.rawValue,
            "Which events are logged: these and the worse ones."
        ),
    ]

    static let manual = """
        latchkey serve: serves JSON properties over HTTP, guarded by one strategy

        Usage: latchkey serve [--flag value | --flag=value ...]

        Prints 'latchkey: listening on http://HOST:PORT (strategy NAME)' as soon as it answers.
        SIGTERM, SIGINT and SIGHUP drain: no new connections, requests in flight finish, status 0. A
        second signal ends the process at once.


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let configuration = try configuration(arguments)
        exit(Service.run(configuration))
    }

    static func configuration(_ arguments: [String]) throws(UsageError) -> ServiceConfiguration {
        let values = try FlagValues(flags, command: "serve", arguments: arguments)
        var configuration = ServiceConfiguration()
        configuration.version = Latchkey.version
        configuration.strategy = values.choice("strategy")
        configuration.stripeCount = values.integer("stripes")
        guard configuration.stripeCount.nonzeroBitCount == 1 else {
            throw UsageError("--stripes takes a power of two, not \(configuration.stripeCount).")
        }
        configuration.metering = values.choice("metering")
        try setShadows(&configuration, values)
        configuration.backlogMax = values.integer("backlog")
        configuration.host = values.text("host")
        if values.isGiven(allowedHost.name) {
            let names = values.list(allowedHost) { $0 }
            configuration.allowedHosts = names.contains("*") ? nil : names
        }
        configuration.port = UInt16(values.integer("port"))
        configuration.httpThreadCount =
            values.text("http-threads").isEmpty
            ? ProcessInfo.processInfo.activeProcessorCount : values.integer("http-threads")
        configuration.usesThreadPerConnection = values.isOn("thread-per-connection")
        configuration.bodyByteCountMax = values.integer("max-body-bytes")
        configuration.headerByteCountMax = values.integer("max-header-bytes")
        configuration.targetByteCountMax = values.integer("max-target-bytes")
        configuration.storeLimits = StoreLimits(
            propertyCountMax: values.integer("max-properties"),
            byteCountMax: values.integer("max-bytes"),
            depthMax: values.integer("max-json-depth")
        )
        configuration.connectionCountMax = values.integer("max-connections")
        configuration.connectionCountPerAddressMax = values.integer("max-connections-per-address")
        configuration.idleTimeoutSeconds = values.integer("idle-timeout-seconds")
        configuration.requestTimeoutSeconds = values.integer("request-timeout-seconds")
        configuration.answerTimeoutSeconds = values.integer("answer-timeout-seconds")
        configuration.drainSeconds = values.integer("drain-seconds")
        configuration.sendsServerTiming = values.isOn("server-timing")
        configuration.logFormat = values.choice("log-format")
        configuration.logLevel = values.choice("log-level")
        return configuration
    }

    private static func setShadows(
        _ configuration: inout ServiceConfiguration,
        _ values: FlagValues
    ) throws(UsageError) {
        let sample = values.text("shadow-sample")
        guard sample.hasPrefix("1/"), let interval = Int(sample.dropFirst(2)),
            (1...shadowIntervalMax).contains(interval)
        else {
            throw UsageError(
                "--shadow-sample takes 1/N with N from 1 to \(shadowIntervalMax), such as 1/16, "
                    + "not '\(sample)'."
            )
        }
        configuration.shadowInterval = interval
        guard values.isGiven(shadow.name) else {
            guard !values.isGiven("shadow-sample") else {
                throw UsageError("--shadow-sample has no meaning without --shadow.")
            }
            return
        }
        guard configuration.metering != .off else {
            throw UsageError("--shadow has no meaning with --metering off: nothing would be seen.")
        }
        configuration.shadows = try values.strategies(shadow)
    }
}
