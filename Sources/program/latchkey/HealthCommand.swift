internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
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
            "The address of the service. 0.0.0.0 and :: mean this machine."
        ),
        Flag(
            "port",
            .integer(1...65_535),
            default: defaults["port", default: ""],
            "The port of the service."
        ),
        Flag(
            "admin-port",
            .spelling(
                placeholder: "PORT",
                help: "none, or a port from 1 to 65535",
                isRight: { $0 == "none" || UInt16($0) ?? 0 > 0 }
            ),
            default: defaults["admin-port", default: ""],
            "The second port of the service, or none. With it, this port is asked: it answers "
                + "whatever clients do at the first one."
        ),
        Flag(
            "tls-certificate",
            .text(placeholder: "FILE"),
            default: defaults["tls-certificate", default: ""],
            "As the service has it. With it, the service is asked over TLS. Its certificate is not "
                + "verified."
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
        let scheme = values.text("tls-certificate") == "none" ? "http" : "https"
        let host = reachable(values.text("host"))
        let admin = values.text("admin-port")
        let port = admin == "none" ? values.text("port") : admin
        let connection = ServiceConnection(
            origin: "\(scheme)://\(host):\(port)",
            verifies: false,
            timeLimit: .seconds(values.integer("timeout-seconds"))
        )
        do {
            let status = try connection.get(values.text("path")).status
            guard status == 200 else {
                complain("the service answers with status \(status)")
                exit(1)
            }
            // The exit status is the result, even if the line cannot be written.
            trySay("latchkey: healthy\n")
        } catch {
            complain(error.message)
            exit(1)
        }
    }

    /// The host, as a URL has it, of a service that listens on this address.
    private static func reachable(_ host: String) -> String {
        switch host {
        case "0.0.0.0": "127.0.0.1"
        case "::": "[::1]"
        default: host.contains(":") ? "[\(host)]" : host
        }
    }
}
