internal import LatchkeyClient
package import LatchkeySettings

/// The choices of a service that follows another one.
package struct FollowSettings: Sendable, Equatable {
    /// The leader's address; empty for none.
    package var leader = ""
    package var tokenFile = ""
    package var authorities = ""

    package init() {}

    /// Whether the service follows another one.
    package var isOn: Bool { !leader.isEmpty }

    /// How the leader is reached; reads the token.
    func connection() throws(ClientFailure) -> ServiceConnection {
        var settings = ClientSettings()
        settings.url = leader
        settings.tokenFile = tokenFile.isEmpty ? ClientSettings.none : tokenFile
        settings.tokenFlag = "--follow-token-from"
        settings.authorities = authorities.isEmpty ? ClientSettings.none : authorities
        settings.timeout = .seconds(5)
        return try settings.connection()
    }
}

extension FollowSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        Setting(
            "follow",
            .spelling(
                placeholder: "URL",
                help: "none, or the address of a service, such as \(ServiceAddress.example)",
                isRight: { $0 == "none" || ServiceAddress($0) != nil }
            ),
            \.leader,
            "The leader that this service follows, or none. A replica has the leader's properties "
                + "and revisions, answers reads with their age, and refuses changes with status "
                + "421 and the leader's address. It takes no --data.",
            text: { $0.isEmpty ? "none" : $0 },
            value: { $0 == "none" ? "" : ServiceAddress($0)?.origin }
        ),
        .path(
            "follow-token-from",
            \.tokenFile,
            "A file whose first line is the token for the leader, with the rights read (of all "
                + "names) and export, or none."
        ),
        .path(
            "follow-ca",
            \.authorities,
            "A file with certificates, in PEM, that the leader's certificate is verified with, or "
                + "none for those of the system."
        ),
    ]
}
