internal import LatchkeyMachine
package import LatchkeySettings

/// How a client reaches its service.
package struct ClientSettings: Configurable {
    package var url = ServiceAddress.example
    package var token = ""
    package var tokenFile = none
    package var authorities = none
    package var timeout = Duration.seconds(10)
    /// The flag that names ``tokenFile``, for messages.
    package var tokenFlag = "--token-from"

    package static let none = "none"
    package static let standard = Self()

    package init() {}

    package static let settings: [Setting<Self>] = [
        Setting(
            "url",
            .spelling(
                placeholder: "URL",
                help: "the address of a service, such as \(ServiceAddress.example)",
                isRight: { ServiceAddress($0) != nil }
            ),
            \.url,
            "The service.",
            text: { $0 },
            value: { $0 }
        ),
        Setting(
            "token",
            .spelled(
                placeholder: "TOKEN",
                help: "visible characters of ASCII",
                // A token is not repeated in a message.
                problem: { isToken($0) ? nil : "takes a token of 'latchkey token create'." }
            ),
            \.token,
            "The token, for a service that asks for one. Other users of this machine can see a "
                + "flag; they cannot see LATCHKEY_TOKEN, or a file.",
            text: { $0 },
            value: { $0 }
        ),
        .text(
            "token-from",
            \.tokenFile,
            placeholder: "FILE",
            "A file whose first line is the token, or none."
        ),
        .text(
            "ca",
            \.authorities,
            placeholder: "FILE",
            "A file with certificates, in PEM, that the service's certificate is verified with, or "
                + "none for those of the system."
        ),
        .seconds(
            "timeout-seconds",
            \.timeout,
            1...3600,
            "The maximum time for an answer, without the time that a command waits on purpose."
        ),
    ]

    /// Whether a text can be sent as a bearer token.
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    /// The connection, whose token may come from a file.
    package func connection() throws(ClientFailure) -> ServiceConnection {
        guard let address = ServiceAddress(url) else {
            preconditionFailure("The setting url was not checked.")
        }
        // libcurl opens it for each connection, and would wait for a writer.
        guard !FilePath.isNamedPipe(authorities) else {
            throw ClientFailure(.usage, "\(authorities) is a pipe; give a file.")
        }
        return ServiceConnection(
            origin: address.origin,
            token: try tokenFile == Self.none ? token : firstLine(of: tokenFile),
            authorities: authorities == Self.none ? nil : authorities,
            timeLimit: timeout
        )
    }

    private func firstLine(of file: String) throws(ClientFailure) -> String {
        guard let text = TextFile(file) else {
            throw ClientFailure(.usage, "\(tokenFlag): \(file) cannot be read.")
        }
        let line = text.lines.first ?? ""
        guard Self.isToken(line) else {
            throw ClientFailure(.usage, "\(tokenFlag): the first line of \(file) is not a token.")
        }
        return line
    }
}
