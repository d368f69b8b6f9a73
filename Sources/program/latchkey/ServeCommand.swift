internal import Foundation
internal import LatchkeyAccess
internal import LatchkeyCommandLine
internal import LatchkeyContention
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey serve`: the service.
///
/// Its flags are the settings of ``ServiceConfiguration``.
enum ServeCommand {
    static let flags = ServiceConfiguration.settings.map { Flag($0) }

    /// The flags that earlier versions had.
    static let removed =
        ServiceConfiguration.limits.map { limit in
            var value = limit.defaultText
            if case .integer(_, let unit) = limit.values, unit != .none { value += " \(unit.name)" }
            return RemovedFlag(limit.name, in: "0.2", "it is always \(value).")
        } + [
            RemovedFlag("history", in: "0.2", "--history-bytes limits the history."),
            RemovedFlag("shadow", in: "0.2", shadowless),
            RemovedFlag("shadow-sample", in: "0.2", shadowless),
            RemovedFlag("forward", in: "0.2", "a follower answers 421 with the leader's address."),
            RemovedFlag(
                "thread-per-connection",
                in: "0.2",
                "event loops serve all connections, and --http-threads says how many."
            ),
            RemovedFlag("follow-token-from", in: "0.2", renamed: "peer-token-from"),
            RemovedFlag("follow-ca", in: "0.2", renamed: "peer-ca"),
            RemovedFlag("cluster-token-from", in: "0.2", renamed: "peer-token-from"),
            RemovedFlag("cluster-peer-ca", in: "0.2", renamed: "peer-ca"),
        ]

    private static let shadowless =
        "no strategy is tried beside the serving one. 'latchkey advise' says what its locks cost."

    /// The flags that most services set, by their purpose.
    static let commonFlags: [(purpose: String, names: [String])] = [
        ("Address", ["host", "port", "tls-certificate", "tls-key"]),
        ("Access", ["token-file", "first-token", "insecure", "rate"]),
        ("State", ["data", "durability", "max-bytes", "eviction", "strategy"]),
        ("Several machines", ["follow", "cluster"]),
    ]

    static let manual = """
        \(usage)
        'latchkey serve --help all' has all flags, and what they mean in full.


        """ + commonFlags.map(paragraph).joined(separator: "\n")

    static let fullManual = usage + "\n\n" + flags.map(\.manual).joined(separator: "\n")

    private static func paragraph(_ title: String, _ names: [String]) -> String {
        title + ":\n"
            + names.compactMap { name in flags.first { $0.name == name }?.shortManual }.joined()
    }

    private static let usage = """
        latchkey serve: serves JSON properties over HTTP, guarded by one strategy

        Usage: latchkey serve [--flag value | --flag=value ...]

        The first line of output says that the service is ready, and where:
        latchkey: listening on http://HOST:PORT (strategy NAME)

        With --data DIR every acknowledged change is on disk before its answer is sent.
        Without it, all data is in memory and is lost when the process stops.

        Times and sizes take units: 2m, 64KiB. A number without a unit is in the unit
        that the flag's help names.

        SIGTERM and SIGINT drain the service: it refuses new connections, finishes the
        requests in flight and ends with status 0. It cuts off requests that take longer
        than --drain-seconds. With --shutdown-delay, it first serves on for that time. The
        next signal ends the delay, or the process at once.

        SIGHUP rereads tokens, certificates and a file of etcd's addresses, and reopens
        the audit log. SIGUSR1 writes the state of the service to the log. 'latchkey
        check-config' prints the faults that would keep the service from starting.

        """

    static func run(_ arguments: [String]) throws(UsageError) {
        var configuration = try configuration(arguments)
        configuration.startWarnings = Latchkey.unknownVariables
        // A file-size limit is an error of that write, not the process's end.
        signal(SIGXFSZ, SIG_IGN)
        Orphans.reapAlways()
        // Otherwise libdispatch tells syslog, and with it the journal, that it may not raise the
        // priority of its threads. To see its messages, set the variable.
        unsafe setenv("LIBDISPATCH_LOG", "NO", 0)
        if let reason = ThreadRoom.refusal(of: configuration.threadCount) {
            complain("cannot start: \(reason)")
            exit(1)
        }
        exit(Service.run(configuration))
    }

    static func configuration(
        _ arguments: [String],
        limits: String? = nil,
        environment: (String) -> String? = FlagValues.processEnvironment
    ) throws(UsageError) -> ServiceConfiguration {
        let values = try FlagValues(
            flags,
            removed: removed,
            command: "latchkey serve",
            arguments: arguments,
            environment: environment
        )
        var configuration = try configuration(values)
        try setLimits(limits ?? limitsOfEnvironment(environment), in: &configuration)
        if let mistake = mistakes(in: configuration, values).first { throw mistake }
        return configuration
    }

    /// The choices that the flags stand for, which may contradict each other.
    static func configuration(_ values: FlagValues) throws(UsageError) -> ServiceConfiguration {
        var configuration = ServiceConfiguration()
        configuration.program = Latchkey.program
        configuration.compare = ComparisonStep.run
        try values.set(in: &configuration)
        return configuration
    }

    /// The text that changes limits, for tests; nil if there is none.
    static func limitsOfEnvironment(
        _ environment: (String) -> String? = FlagValues.processEnvironment
    ) -> String? {
        environment(ServiceConfiguration.limitsVariable)
    }

    static func setLimits(
        _ text: String?,
        in configuration: inout ServiceConfiguration
    ) throws(UsageError) {
        guard let text else { return }
        do {
            try configuration.set(text, of: ServiceConfiguration.limits)
        } catch {
            throw UsageError("\(ServiceConfiguration.limitsVariable) \(error.message)")
        }
    }

    /// Flags that contradict each other, or have no meaning.
    static func mistakes(
        in configuration: ServiceConfiguration,
        _ values: FlagValues
    ) -> [UsageError] {
        var mistakes: [UsageError] = []
        func require(_ isRight: Bool, _ sentence: @autoclosure () -> String) {
            if !isRight { mistakes.append(UsageError(sentence())) }
        }
        func needs(_ names: [String], _ other: String, _ isThere: Bool) {
            for name in names where !isThere && isChosen(name, values) {
                mistakes.append(UsageError("--\(name) has no meaning without --\(other)."))
            }
        }
        let measures = configuration.metering != .off
        require(
            !configuration.isProfiling || measures,
            "--profile has no meaning with --metering off: nothing would be seen."
        )
        let ofData = PersistenceSettings.settings.map(\.name).filter { $0 != "data" }
        needs(ofData, "data", !configuration.persistence.path.isEmpty)
        needs(
            PeerSettings.settings.map(\.name),
            "follow or --cluster",
            configuration.follow.isOn || configuration.cluster.isOn
        )
        require(
            !configuration.follow.isOn || configuration.persistence.path.isEmpty,
            "--data has no meaning with --follow: a replica takes its state from the leader. "
                + "Leave out one of them."
        )
        mistakes += clusterMistakes(in: configuration, values)
        let access = configuration.access
        if access.tokenFile.isEmpty {
            needs(["open"], "token-file", false)
            // The image has the variable, whatever is chosen.
            if let flag = flags.first(where: { $0.name == "first-token" }),
                values.source(flag) != flag.environmentName
            {
                needs([flag.name], "token-file", false)
            }
        } else {
            require(
                access.tokenFile != access.firstToken,
                "--first-token and --token-file must be two files."
            )
            require(!access.isInsecure, "--insecure has no meaning with --token-file.")
        }
        needs(["rate-mode"], "rate", configuration.rate.rate != nil)
        require(
            access.isInsecure || !configuration.isInsecure,
            "other machines can reach \(values.text("host")), and everybody could change "
                + "everything. Give --token-file FILE, or --insecure if that is right."
        )
        return mistakes
    }

    /// Whether a flag is given with another value than the default, which a template may write.
    private static func isChosen(_ name: String, _ values: FlagValues) -> Bool {
        values.isGiven(name)
            && flags.contains { $0.name == name && $0.defaultText != values.text(name) }
    }

    private static func clusterMistakes(
        in configuration: ServiceConfiguration,
        _ values: FlagValues
    ) -> [UsageError] {
        let cluster = configuration.cluster
        let given = ClusterSettings.settings.map(\.name).filter { isChosen($0, values) }
        var sentences: [String] = []
        if !cluster.isOn {
            sentences += given.filter { $0 != "cluster" }
                .map { "--\($0) has no meaning without --cluster." }
        } else if configuration.persistence.path.isEmpty {
            sentences.append(
                "--cluster needs --data: the state is in the folder, and the log has only what is "
                    + "new."
            )
        }
        if cluster.isOn, configuration.follow.isOn {
            sentences.append("--cluster has no meaning with --follow. Leave out one of them.")
        }
        if !cluster.isEncrypted {
            // The operator expects TLS, and would not have it.
            let ofTLS = ["cluster-ca", "cluster-certificate", "cluster-key"]
            sentences += ofTLS.filter(given.contains)
                .map { "--\($0) needs addresses in --cluster that all begin with https://." }
        }
        return sentences.map { UsageError($0) }
    }
}
