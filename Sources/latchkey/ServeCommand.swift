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

        SIGTERM, SIGINT and SIGHUP drain the service: it refuses new connections,
        finishes the requests in flight and ends with status 0. A second signal ends
        the process at once.


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
        for name in ["record-sample", "record-bytes"]
        where values.isGiven(name) && configuration.recording.path.isEmpty {
            throw UsageError("--\(name) has no meaning without --record.")
        }
        return configuration
    }
}
