internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey health`: the health check of the container, which has no `curl`.
enum HealthCommand {
    /// The defaults of the service.
    private static let defaults = Dictionary(
        uniqueKeysWithValues: ServiceConfiguration.settings.map { ($0.name, $0.defaultText) }
    )

    static let flags = [
        Flag(
            "host",
            .text(placeholder: "ADDRESS"),
            default: defaults["host", default: ""],
            "The numeric address of the service. 0.0.0.0 and :: mean this machine."
        ),
        Flag(
            "port",
            .integer(1...65_535),
            default: defaults["port", default: ""],
            "The port of the service."
        ),
        Flag("path", .text(placeholder: "PATH"), default: "/healthz", "The path to ask for."),
        Flag(
            "timeout-seconds",
            .integer(1...3600, unit: .seconds),
            default: "2",
            "The maximum time for the service to answer."
        ),
    ]

    static let manual = """
        latchkey health: checks whether a running service is alive

        Usage: latchkey health [--flag value | --flag=value ...]

        Ends with status 0 if the answer is 200. Any other answer, and none, is status 1.


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(flags, command: "latchkey health", arguments: arguments)
        let result = HealthProbe.run(
            host: values.text("host"),
            port: UInt16(values.integer("port")),
            path: values.text("path"),
            timeoutSeconds: values.integer("timeout-seconds")
        )
        switch result {
        case .success(200):
            // The exit status is the result, even if the line cannot be written.
            trySay("latchkey: healthy\n")
        case .success(let status):
            complain("the service answers with status \(status)")
            exit(1)
        case .failure(let failure):
            complain(failure.message)
            exit(1)
        }
    }
}
