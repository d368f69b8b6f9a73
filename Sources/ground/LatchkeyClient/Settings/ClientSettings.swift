internal import LatchkeyMachine
package import LatchkeySettings

/// How a client reaches its service.
package struct ClientSettings: Configurable {
    package var url = ServiceAddress.example
    package var token = ""
    package var tokenFile = none
    package var authorities = none
    package var certificate = none
    package var key = none
    package var timeout = Duration.seconds(10)
    /// Nil for the standard one, or ``timeout`` if that is more.
    package var patience: Duration?
    /// The source of ``url``, for messages: the flag, the variable, or the file of settings.
    package var urlSource: String?
    /// The flag that names ``tokenFile``, for messages.
    package var tokenFlag = "--token-from"
    /// The flag of the certificates of authorities.
    package var authoritiesFlag = "--ca"

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
                problem: { text in
                    isToken(TextFile.trimmed(text[...]))
                        ? nil : "takes a token of 'latchkey token create'."
                }
            ),
            \.token,
            "The token, for a service that asks for one. Other users of this machine can see a "
                + "flag; they cannot see LATCHKEY_TOKEN, or a file.",
            text: { $0 },
            value: { TextFile.trimmed($0[...]) }
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
        .text(
            "cert",
            \.certificate,
            placeholder: "FILE",
            "A file with the certificate of this client, in PEM, for a service that asks for one "
                + "(--tls-client-ca), or none."
        ),
        .text(
            "key",
            \.key,
            placeholder: "FILE",
            "A file with the key of the certificate, in PEM, or none if --cert has it, too."
        ),
        Setting(
            "timeout-seconds",
            .times(0.001...3600),
            \.timeout,
            "The maximum time of one attempt, without the time that a command waits on purpose.",
            text: { SecondsText.text($0) },
            value: { SecondsText.duration($0) }
        ),
        Setting(
            "patience-seconds",
            .times(0...3600),
            \.patience,
            default: "10, or --timeout-seconds if that is more",
            "The time for which a request is repeated that was not answered. A command that waits "
                + "on purpose ends at most 2 seconds after its wait.",
            text: { SecondsText.text($0 ?? Client.patienceStandard) },
            value: { SecondsText.duration($0).map { .some($0) } }
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
        guard certificate != Self.none || key == Self.none else {
            throw ClientFailure(.usage, "--key needs --cert.")
        }
        var files = ServiceConnection.Files()
        files.authorities = try Self.file(authorities, authoritiesFlag, of: "CERTIFICATE")
        files.certificate = try Self.file(certificate, "--cert", of: "CERTIFICATE")
        files.key = try Self.file(key, "--key", of: "PRIVATE KEY")
        return ServiceConnection(
            origin: address.origin,
            token: try tokenFile == Self.none ? token : firstLine(of: tokenFile),
            files: files,
            timeLimit: timeout
        )
    }

    /// The client.
    package func client() throws(ClientFailure) -> Client {
        Client(
            try connection(),
            patience: patience ?? max(Client.patienceStandard, timeout),
            source: urlSource
        )
    }

    private static func file(
        _ path: String,
        _ flag: String,
        of kind: String
    ) throws(ClientFailure) -> String? {
        guard path != none else { return nil }
        // libcurl opens it for each connection, and would wait for a writer.
        guard !FilePath.isNamedPipe(path) else {
            throw ClientFailure(.usage, "\(flag): \(path) is a pipe; give a file.")
        }
        if let failure = FilePath.unreadable(path) {
            throw ClientFailure(.usage, "\(flag): \(failure.unread) It is to be a file in PEM.")
        }
        // libcurl reports it only when a connection is made, and does not name the flag.
        let lines = TextFile(path)?.lines ?? []
        let has = { (word: String) in
            lines.contains { $0.hasPrefix("-----\(word) ") && $0.hasSuffix("\(kind)-----") }
        }
        guard has("BEGIN"), has("END") else {
            throw ClientFailure(
                .usage,
                "\(flag): \(path) has no \(kind.lowercased()) in PEM: no lines -----BEGIN … "
                    + "\(kind)----- and -----END … \(kind)-----."
            )
        }
        return path
    }

    private func firstLine(of file: String) throws(ClientFailure) -> String {
        guard let text = TextFile(file) else {
            throw ClientFailure(
                .usage,
                "\(tokenFlag): \(file) cannot be read. Its first line is to be a token of "
                    + "'latchkey token create'."
            )
        }
        let line = TextFile.trimmed(text.lines.first?[...] ?? "")
        guard Self.isToken(line) else {
            throw ClientFailure(.usage, "\(tokenFlag): the first line of \(file) is not a token.")
        }
        return line
    }
}
