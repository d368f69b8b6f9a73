import Foundation
import LatchkeyTestSupport
import Testing

/// The certificates of a cluster, as files.
private struct ClusterCertificates {
    let folder: TemporaryFolder
    let encryption: EtcdProcesses.Encryption

    init() throws {
        folder = try TemporaryFolder()
        let authority = TestCertificate("authority", isAuthority: true)
        let other = TestCertificate("other", isAuthority: true)
        let certificates = [
            "authority": authority,
            "other": other,
            "server": TestCertificate("etcd", signedBy: authority),
            "other-server": TestCertificate("etcd", signedBy: other),
            "client": TestCertificate("replica", isForClients: true, signedBy: authority),
            "stranger": TestCertificate("replica", isForClients: true, signedBy: other),
            "expired": TestCertificate(
                "replica",
                isForClients: true,
                signedBy: authority,
                endsIn: -60
            ),
        ]
        for (name, certificate) in certificates {
            for (kind, text) in [("pem", certificate.certificate), ("key", certificate.key)] {
                let path = "\(folder.path)/\(name).\(kind)"
                try text.write(toFile: path, atomically: true, encoding: .utf8)
            }
        }
        encryption = EtcdProcesses.Encryption(
            certificate: "\(folder.path)/server.pem",
            key: "\(folder.path)/server.key",
            authority: "\(folder.path)/authority.pem"
        )
    }

    /// Puts certificates of the other authority in the places of those that are used.
    func replaceAll() throws {
        let files = [
            "authority.pem": "other.pem", "server.pem": "other-server.pem",
            "server.key": "other-server.key", "client.pem": "stranger.pem",
            "client.key": "stranger.key",
        ]
        for (file, other) in files {
            let text = try String(contentsOfFile: "\(folder.path)/\(other)", encoding: .utf8)
            try text.write(toFile: "\(folder.path)/\(file)", atomically: true, encoding: .utf8)
        }
    }

    /// The flags of a replica that shows a certificate, or none.
    func flags(_ client: String? = "client", authority: String = "authority") -> [String] {
        ["--cluster-ca", "\(folder.path)/\(authority).pem"]
            + (client.map {
                [
                    "--cluster-certificate", "\(folder.path)/\($0).pem", "--cluster-key",
                    "\(folder.path)/\($0).key",
                ]
            } ?? [])
    }
}

/// `--cluster` with https addresses: etcd and its replicas know each other by certificates.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterEncryptionTests {
    @Test func `replicas write, watch and go on without a member over TLS`() async throws {
        try await offPool {
            let certificates = try ClusterCertificates()
            let etcd = try EtcdProcesses(members: 3, encryption: certificates.encryption)
            let replicas = try ReplicaSet(etcd, flags: certificates.flags())
            let watch = try EventStreamClient(port: replicas.sites[2].port, "/v1/watch?name=a")
            // More than one record of TLS, and than one frame.
            let long = "\"\(String(repeating: "x", count: 200_000))\""
            for (number, site) in replicas.sites.enumerated() {
                #expect(try site.ask("PUT", "/v1/properties/long\(number)", long).status == 201)
                #expect(try site.ask("PUT", "/v1/properties/a", "\(number)").status < 300)
                #expect(try watch.next()?.data.contains("\"value\":\(number)") == true)
            }
            for member in 0..<3 {
                etcd.signal(member, SIGKILL)
                for site in replicas.sites {
                    try eventually("writes go on") {
                        try site.ask("PUT", "/v1/properties/b", "\(member)").status < 300
                    }
                }
                try etcd.start(member)
                try etcd.awaitHealth(member)
            }
            #expect(try replicas.awaitSame().contains(#""name":"long2""#))
            #expect(replicas.endAll())
        }
    }

    @Test func `SIGHUP has the certificates read again`() async throws {
        try await offPool {
            let certificates = try ClusterCertificates()
            let etcd = try EtcdProcesses(encryption: certificates.encryption)
            let replicas = try ReplicaSet(
                etcd,
                strategies: ["lock"],
                flags: certificates.flags()
            )
            let site = replicas.sites[0]
            #expect(try site.ask("PUT", "/v1/properties/a", "1").status == 201)
            etcd.signal(0, SIGTERM)
            try certificates.replaceAll()
            try etcd.start(0)
            try etcd.awaitHealth(0)
            try eventually("the former ones do not fit any more") {
                try site.ask("GET", "/readyz?verbose").text.contains("TLS: The certificate is NOT")
            }
            replicas.programs[0].signal(SIGHUP)
            try eventually("writes go on") {
                try site.ask("PUT", "/v1/properties/a", "2").status == 204
            }
            #expect(replicas.endAll())
        }
    }

    /// The flags of a replica, and its message about them.
    private struct Mistake: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var sentence = "TLS: the server refuses: Certificate is bad"
        var client: String? = "client"
        var authority = "authority"
        var address = "https://127.0.0.1"

        static let all = [
            Self(testDescription: "no certificate", client: nil),
            Self(testDescription: "a certificate of another authority", client: "stranger"),
            Self(testDescription: "a certificate that has expired", client: "expired"),
            Self(
                testDescription: "a server of another authority",
                sentence: "TLS: The certificate is NOT trusted. The certificate issuer is unknown.",
                authority: "other"
            ),
            Self(
                testDescription: "a server of another name",
                sentence: "The name in the certificate does not match the expected.",
                address: "https://127.0.0.2"
            ),
            Self(
                testDescription: "an address without TLS",
                sentence: "does its address begin with https?",
                address: "http://127.0.0.1"
            ),
        ]
    }

    @Test(arguments: Mistake.all)
    private func `a replica that does not fit etcd says why`(
        mistake: Mistake
    ) async throws {
        try await offPool {
            let certificates = try ClusterCertificates()
            let etcd = try EtcdProcesses(encryption: certificates.encryption)
            let folder = try TemporaryFolder()
            let clientPort = etcd.addresses[0].split(separator: ":")[2]
            let site = Site(port: try EtcdProcesses.freePort())
            let flags =
                mistake.address.hasPrefix("http:")
                ? [] : certificates.flags(mistake.client, authority: mistake.authority)
            let program = try Program(
                [
                    "serve", "--port", "\(site.port)", "--data", folder.path, "--cluster",
                    "\(mistake.address):\(clientPort)",
                ] + flags
            )
            var last = ""
            try eventually("it says why") {
                guard let answer = try? site.ask("GET", "/readyz?verbose") else { return false }
                last = answer.text
                return answer.status == 503 && last.contains("connecting")
                    && last.contains(mistake.sentence)
            }
            #expect(program.endAndFinish().errors.contains(mistake.sentence), "\(last)")
        }
    }

    @Test func `half a pair of a certificate is refused at the start`() async throws {
        let half = try await Program.result(
            of: [
                "serve", "--data", "/nonexistent", "--cluster", "https://a",
                "--cluster-certificate", "/nonexistent",
            ]
        )
        #expect(half.status == 1)
        #expect(half.errors.contains("--cluster-certificate and --cluster-key need each other"))
    }
}
