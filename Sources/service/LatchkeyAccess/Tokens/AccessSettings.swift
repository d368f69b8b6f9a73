package import LatchkeyFrame
package import LatchkeySettings

/// The choices about access to the service.
package struct AccessSettings: Sendable {
    /// The file of tokens; empty for none: then every client may do everything.
    package var tokenFile = ""
    /// The file for a new token, if the file of tokens is not there yet; empty for none.
    package var firstToken = ""
    /// Whether the service may listen beyond this machine without tokens.
    package var isInsecure = false
    /// The pages that need no token although there are tokens.
    package var opened = [OpenedPage.readyz]
    /// The lifetime of a browser's session.
    package var sessionTime = Duration.seconds(3600)

    package init() {}
}

extension AccessSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "token-file",
            \.tokenFile,
            "A file of tokens and their rights, or none: every client may do everything. "
                + "'latchkey token create' makes its lines. The service rereads it when it "
                + "changes and at SIGHUP. 'latchkey token revoke --all' ends all tokens; to "
                + "empty the file does not."
        ),
        .path(
            "first-token",
            \.firstToken,
            "A new file for a token with all rights, if --token-file does not exist yet, or "
                + "none. The service makes both files."
        ),
        .toggle(
            "insecure",
            \.isInsecure,
            "Serves without tokens on an address that other machines can reach: every client may "
                + "do everything."
        ),
        Setting(
            "open",
            .list(
                .spelling(
                    placeholder: "PAGE",
                    help: "metrics, readyz, version, or none",
                    isRight: { $0 == "none" || OpenedPage(rawValue: $0) != nil }
                )
            ),
            \.opened,
            "The pages that need no token. /, /healthz, /openapi.yaml and /problems need none.",
            text: { $0.isEmpty ? "none" : $0.map(\.rawValue).joined(separator: ",") },
            value: { $0.split(separator: ",").compactMap { OpenedPage(rawValue: String($0)) } }
        ),
    ]
}
