internal import LatchkeyClient
package import LatchkeySettings

/// The choices of a service that follows another one.
package struct FollowSettings: Sendable, Equatable {
    /// The leader's address; empty for none.
    package var leader = ""
    package var peers = PeerSettings()

    package init() {}

    /// Whether the service follows another one.
    package var isOn: Bool { !leader.isEmpty }

    /// How the leader is reached; reads the token.
    func connection() throws(ClientFailure) -> ServiceConnection {
        var settings = peers.client(of: leader)
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
            "The leader that this service follows, or none. A follower has the leader's "
                + "properties and revisions, answers reads with their age, and refuses changes "
                + "with status 421 and the leader's address. It takes no --data.",
            text: { $0.isEmpty ? "none" : $0 },
            value: { $0 == "none" ? "" : ServiceAddress($0)?.origin }
        )
    ]
}
