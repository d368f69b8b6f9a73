import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Which servers a replica accepts as etcd.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EtcdTrustTests {
    /// How a question to an etcd with this certificate ends.
    private static func status(
        _ server: TestCertificate,
        _ authority: TestCertificate
    ) throws
        -> RPCChannel.Status?
    {
        let folder = try TemporaryFolder()
        try folder.write(server)
        try folder.write("authority.pem", authority.certificate)
        let etcd = try EtcdProcesses(
            encryption: EtcdProcesses.Encryption(
                certificate: folder.path + "/certificate.pem",
                key: folder.path + "/key.pem",
                authority: folder.path + "/authority.pem"
            )
        )
        let own = TestCertificate("replica", isForClients: true, signedBy: authority)
        let trust = EtcdTrust(
            authorities: authority.certificate,
            certificate: own.certificate,
            key: own.key
        )
        let address = try #require(EtcdServer(etcd.addresses[0]))
        let channel = RPCChannel(address, trust) { _ in }
        return awaited { end in
            channel?.call("/etcdserverpb.Cluster/MemberList", [], take: { _ in }, end: end)
        }
    }

    @Test func `a client's certificate of the same authority is refused from an etcd`() throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let server = TestCertificate("etcd", signedBy: authority)
        #expect(try Self.status(server, authority)?.isSuccess == true)
        let client = TestCertificate("etcd", isForClients: true, signedBy: authority)
        let refused = try #require(try Self.status(client, authority))
        #expect(!refused.isSuccess && refused.reason.contains("intended purpose"), "\(refused)")
    }
}
