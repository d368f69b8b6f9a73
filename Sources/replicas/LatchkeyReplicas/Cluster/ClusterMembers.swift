internal import LatchkeyAccess
package import LatchkeyFrame
internal import LatchkeyHTTP
package import LatchkeyReplication

/// The source of etcd's addresses.
package enum ClusterMembers: Sendable, Equatable {
    case none
    case listed([EtcdServer])
    /// A file has them, which can change while the replica runs.
    case file(String)

    /// The addresses with commas between them, a path that has a slash, or `none`; nil if the text
    /// is none of these.
    package init?(_ text: String) {
        if text == "none" {
            self = .none
        } else if text.contains("://") {
            let parts = text.split(separator: ",", omittingEmptySubsequences: false)
            let servers = parts.compactMap { EtcdServer(String($0)) }
            guard servers.count == parts.count else { return nil }
            self = .listed(servers)
        } else {
            guard text.contains("/"), text.utf8.count < 4000 else { return nil }
            self = .file(text)
        }
    }

    package var text: String {
        switch self {
        case .none: "none"
        case .listed(let servers): servers.map(\.text).joined(separator: ",")
        case .file(let path): path
        }
    }

    /// Reads the file, if there is one.
    func servers() throws(StartFailure) -> [EtcdServer] {
        switch self {
        case .none: return []
        case .listed(let servers): return servers
        case .file(let path):
            let text = try EtcdAccess.text(path, "cluster")
            let words = text.split { $0.isWhitespace || $0 == "," }
            let servers = words.compactMap { EtcdServer(String($0)) }
            guard !servers.isEmpty, servers.count == words.count else {
                throw StartFailure(
                    reason: "--cluster: \(path) needs the addresses of etcd in lines, such as "
                        + "http://a:2379."
                )
            }
            return servers
        }
    }
}

/// How etcd is reached, from the flags and their files.
package struct EtcdAccess: Sendable, Equatable {
    let servers: [EtcdServer]
    let trust: EtcdTrust

    /// Reads the files.
    package init(_ settings: ClusterSettings) throws(StartFailure) {
        servers = try settings.members.servers()
        let isEncrypted = servers.allSatisfy(\.isEncrypted)
        guard isEncrypted || servers.allSatisfy({ !$0.isEncrypted }) else {
            throw StartFailure(reason: "--cluster: write https:// for all members, or for none.")
        }
        let files = settings.authorities + settings.certificate + settings.key
        guard isEncrypted || files.isEmpty else {
            throw StartFailure(
                reason: "--cluster-ca, --cluster-certificate and --cluster-key need addresses "
                    + "that all begin with https://."
            )
        }
        guard settings.certificate.isEmpty == settings.key.isEmpty else {
            throw StartFailure(reason: "--cluster-certificate and --cluster-key need each other.")
        }
        trust = EtcdTrust(
            authorities: try Self.optionalText(settings.authorities, "cluster-ca"),
            certificate: try Self.optionalText(settings.certificate, "cluster-certificate"),
            key: try Self.optionalText(settings.key, "cluster-key")
        )
        if let objection = trust.objectionToAuthorities {
            throw StartFailure(reason: "--cluster-ca: \(settings.authorities): \(objection)")
        }
        guard let certificate = trust.certificate, let key = trust.key else { return }
        let identity = TLSIdentity(
            certificates: certificate,
            key: key,
            authorities: trust.authorities
        )
        do throws(TLSIdentityError) {
            _ = try identity.expiry()
        } catch {
            throw StartFailure(
                reason: "--cluster-certificate: \(settings.certificate): \(error.message)"
            )
        }
    }

    private static func optionalText(
        _ path: String,
        _ flag: String
    ) throws(StartFailure) -> String? {
        path.isEmpty ? nil : try text(path, flag)
    }

    static func text(_ path: String, _ flag: String) throws(StartFailure) -> String {
        do throws(AccessFileError) {
            return try WatchedFile(path: path).text().text
        } catch {
            throw StartFailure(reason: "--\(flag): \(error.message)")
        }
    }
}
