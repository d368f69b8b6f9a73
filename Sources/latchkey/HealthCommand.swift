internal import Foundation
internal import LatchkeyService

/// `latchkey health`: for the container's health check, which has no `curl`.
enum HealthCommand {
    private static let flags = [
        Flag(
            "host",
            .text(placeholder: "ADDRESS"),
            default: "127.0.0.1",
            "The numeric address of the service. 0.0.0.0 and :: mean this machine."
        ),
        Flag("port", .integer(1...65535), default: "8080", "The port of the service."),
        Flag("path", .text(placeholder: "PATH"), default: "/healthz", "What to get."),
        Flag(
            "timeout-seconds",
            .integer(1...3600),
            default: "2",
            "How long the service has to answer."
        ),
    ]

    static let manual = """
        latchkey health: asks a running service whether it is alive

        Usage: latchkey health [--flag value | --flag=value ...]

        Status 0 if it answers 200, 1 if it answers anything else or nothing.


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(flags, command: "health", arguments: arguments)
        let result = HealthProbe.run(
            host: values.text("host"),
            port: UInt16(values.integer("port")),
            path: values.text("path"),
            timeoutSeconds: values.integer("timeout-seconds")
        )
        switch result {
        case .success(200):
            // The answer is the status, also where the line cannot be written.
            trySay("latchkey: healthy\n")
        case .success(let status):
            say("latchkey: the service answers \(status)\n", to: 2)
            exit(1)
        case .failure(let failure):
            say("latchkey: \(failure.message)\n", to: 2)
            exit(1)
        }
    }
}
