internal import LatchkeyClient
internal import LatchkeyReplication
package import LatchkeySettings
package import LatchkeyStore

/// The choices of a service that is a replica of a cluster.
package struct ClusterSettings: Sendable, Equatable {
    package var members = ClusterMembers.none
    package var name = "latchkey"
    package var authorities = ""
    package var certificate = ""
    package var key = ""
    /// Where the other replicas reach this one; empty if they cannot.
    package var url = ""
    package var peers = PeerSettings()
    /// The latest rules that the replica knows.
    package var rules = RuleLevel.current
    /// How long a silent replica that does not know later rules holds them back.
    package var absence = Duration.seconds(3600)

    package init() {}

    /// Whether the service is a replica of a cluster.
    package var isOn: Bool { members != .none }

    /// Whether each address uses TLS, as far as is known without reading a file of them.
    package var isEncrypted: Bool {
        guard case .listed(let servers) = members else { return true }
        return servers.allSatisfy(\.isEncrypted)
    }
}

extension ClusterSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = [
        Setting(
            "cluster",
            .spelling(
                placeholder: "URL,...",
                help: "none, the addresses of etcd, such as "
                    + "http://a:2379,http://b:2379,http://c:2379, or a path with a slash",
                isRight: { ClusterMembers($0) != nil }
            ),
            \.members,
            "The addresses of etcd, which orders the changes of all replicas, or none. Each "
                + "replica takes changes, and has the state and the revisions of the others. It "
                + "needs --data. A file, such as ./members, has the addresses in lines; SIGHUP "
                + "rereads it.",
            text: \.text,
            value: { ClusterMembers($0) }
        ),
        Setting(
            "cluster-name",
            .spelling(
                placeholder: "NAME",
                help: "1 to 64 letters, digits, hyphens and underscores",
                isRight: isName
            ),
            \.name,
            "The name of the cluster. One etcd can have several.",
            text: { $0 },
            value: { $0 }
        ),
        .path(
            "cluster-ca",
            \.authorities,
            "A file of certificates, in PEM, that verify those of etcd, or none for those of the "
                + "system. SIGHUP rereads it."
        ),
        .path(
            "cluster-certificate",
            \.certificate,
            "A file with the certificate, in PEM, that is shown to etcd, or none. SIGHUP rereads "
                + "it."
        ),
        .path(
            "cluster-key",
            \.key,
            "A file with the key of --cluster-certificate, in PEM, or none. SIGHUP rereads it."
        ),
        Setting(
            "cluster-url",
            .spelling(
                placeholder: "URL",
                help: "none, or the address of this replica, such as http://10.0.0.1:8080",
                isRight: { $0 == "none" || ServiceAddress($0) != nil }
            ),
            \.url,
            "The address at which new replicas take the state of this one, or none.",
            text: { $0.isEmpty ? "none" : $0 },
            value: { $0 == "none" ? "" : ServiceAddress($0)?.origin }
        ),
    ]

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
            }
    }
}

extension ClusterSettings {
    /// Limits that are constants.
    package static let limits: [Setting<Self>] = [
        .integer(
            "rule-level",
            \.ruleNumber,
            1...Int(RuleLevel.current.rawValue),
            "The latest level of rules that a replica knows: that of 0.1 is 1."
        ),
        .seconds(
            "replica-absence",
            \.absence,
            1...86_400,
            "A replica of an earlier version that says nothing for so long holds back later rules "
                + "no more."
        ),
    ]

    private var ruleNumber: Int {
        get { Int(rules.rawValue) }
        set { rules = RuleLevel(atMost: UInt8(clamping: newValue)) }
    }
}
