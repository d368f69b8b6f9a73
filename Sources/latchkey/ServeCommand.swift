internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyContention
internal import LatchkeyPersistence
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey serve`: the service.
///
/// Its flags are the settings of ``ServiceConfiguration``.
enum ServeCommand {
    static let flags = ServiceConfiguration.settings.map { Flag($0) }

    static let manual = """
        latchkey serve: serves JSON properties over HTTP, guarded by one strategy

        Usage: latchkey serve [--flag value | --flag=value ...]

        The first line of output says that the service is ready, and where:
        latchkey: listening on http://HOST:PORT (strategy NAME)

        With --data DIR every acknowledged change is on disk before its answer is sent.
        Without it, all data is in memory and is lost when the process stops.

        Times and sizes take units: 2m, 64KiB. A number without a unit is in the unit
        that the flag's help names.

        SIGTERM and SIGINT drain the service: it refuses new connections, finishes the
        requests in flight and ends with status 0. A second signal ends the process at
        once. SIGHUP has the file of tokens read again.


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        var configuration = try configuration(arguments)
        configuration.startWarnings = Latchkey.unknownVariables
        // A file-size limit is an error of that write, not the process's end.
        signal(SIGXFSZ, SIG_IGN)
        exit(Service.run(configuration))
    }

    static func configuration(
        _ arguments: [String],
        environment: (String) -> String? = FlagValues.processEnvironment
    ) throws(UsageError) -> ServiceConfiguration {
        let values = try FlagValues(
            flags,
            command: "latchkey serve",
            arguments: arguments,
            environment: environment
        )
        var configuration = ServiceConfiguration()
        configuration.version = Latchkey.version
        configuration.compare = ComparisonStep.run
        try values.set(in: &configuration)
        guard !configuration.isProfiling || configuration.metering != .off else {
            throw UsageError("--profile has no meaning with --metering off: nothing would be seen.")
        }
        if configuration.shadows.isEmpty {
            guard !values.isGiven("shadow-sample") else {
                throw UsageError("--shadow-sample has no meaning without --shadow.")
            }
        } else if configuration.metering == .off {
            throw UsageError("--shadow has no meaning with --metering off: nothing would be seen.")
        }
        for name in PersistenceSettings.settings.map(\.name)
        where name != "data" && values.isGiven(name) && configuration.persistence.path.isEmpty {
            throw UsageError("--\(name) has no meaning without --data.")
        }
        try checkAccess(configuration, values)
        for name in ["record-sample", "record-bytes"]
        where values.isGiven(name) && configuration.recording.path.isEmpty {
            throw UsageError("--\(name) has no meaning without --record.")
        }
        return configuration
    }

    private static func checkAccess(
        _ configuration: ServiceConfiguration,
        _ values: FlagValues
    ) throws(UsageError) {
        if configuration.access.tokenFile.isEmpty {
            for name in ["open", "session-seconds"] where values.isGiven(name) {
                throw UsageError("--\(name) has no meaning without --token-file.")
            }
            // The image has the variable, whatever is chosen.
            if let flag = flags.first(where: { $0.name == "first-token" }),
                values.isGiven(flag.name), values.source(flag) != flag.environmentName
            {
                throw UsageError("--first-token has no meaning without --token-file.")
            }
        } else if configuration.access.tokenFile == configuration.access.firstToken {
            throw UsageError("--first-token and --token-file must be two files.")
        } else if configuration.access.isInsecure {
            throw UsageError("--insecure has no meaning with --token-file.")
        }
        for name in ["rate-burst", "rate-mode"]
        where values.isGiven(name) && configuration.rate.rate == nil {
            throw UsageError("--\(name) has no meaning without --rate.")
        }
        guard configuration.access.isInsecure || !configuration.isInsecure else {
            throw UsageError(
                "other machines can reach \(values.text("host")), and everybody could change "
                    + "everything. Give --token-file FILE, or --insecure if that is right."
            )
        }
    }
}
