internal import LatchkeyClient
package import LatchkeyFrame
package import LatchkeySettings

/// How a service reaches the services that it takes its state from: a leader, or other replicas.
package struct PeerSettings: Sendable, Equatable {
    package var tokenFile = ""
    package var authorities = ""

    package init() {}

    /// Reads the files.
    package func check() throws(StartFailure) {
        do throws(ClientFailure) {
            _ = try client(of: ServiceAddress.example).connection()
        } catch {
            throw StartFailure(reason: error.message)
        }
    }

    func client(of url: String) -> ClientSettings {
        var client = ClientSettings()
        client.url = url
        client.tokenFile = tokenFile.isEmpty ? ClientSettings.none : tokenFile
        client.tokenFlag = "--peer-token-from"
        client.authoritiesFlag = "--peer-ca"
        client.authorities = authorities.isEmpty ? ClientSettings.none : authorities
        return client
    }
}

extension PeerSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        .path(
            "peer-token-from",
            \.tokenFile,
            "A file whose first line is the token for the leader or the other replicas, or none. "
                + "The leader of --follow asks for the rights read (of all names) and export, "
                + "the replicas of --cluster for the right backup."
        ),
        .path(
            "peer-ca",
            \.authorities,
            "A file of certificates, in PEM, that verify those of the leader or the other "
                + "replicas, or none for those of the system."
        ),
    ]
}
