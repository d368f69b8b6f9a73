package import LatchkeyFrame
package import LatchkeySettings

/// The choices about who may use the service.
package struct AccessSettings: Sendable {
    /// The file of tokens; empty for none: then everybody may do everything.
    package var tokenFile = ""
    /// Where a token is written if the file of tokens is not there yet; empty for nowhere.
    package var firstToken = ""
    /// Whether the service may listen beyond this machine without tokens.
    package var isInsecure = false
    /// What everybody may see although there are tokens.
    package var opened = [OpenedPage.readyz]
    /// How long a browser's session lasts.
    package var sessionTime = Duration.seconds(3600)

    package init() {}
}

extension AccessSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "token-file",
            \.tokenFile,
            "A file of tokens: who may do what, or none: everybody everything. 'latchkey token "
                + "create' makes its lines. It is read again when it changes and at SIGHUP. "
                + "'latchkey token revoke --all' ends all tokens; to empty the file does not."
        ),
        .path(
            "first-token",
            \.firstToken,
            "If --token-file is not there yet, makes it, with one token that has all rights, and "
                + "writes the token to this file, which must be new; or none."
        ),
        .toggle(
            "insecure",
            \.isInsecure,
            "Lets everybody who can connect do everything, on an address that other machines can "
                + "reach, without --token-file."
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
