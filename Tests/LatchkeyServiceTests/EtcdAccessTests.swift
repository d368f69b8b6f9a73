import LatchkeyReplication
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas

/// The files that say how etcd is reached.
@Suite struct EtcdAccessTests {
    private func failure(_ settings: ClusterSettings) -> String? {
        do throws(StartFailure) {
            _ = try EtcdAccess(settings)
            return nil
        } catch {
            return error.reason
        }
    }

    @Test func `a file has the addresses in lines or with commas`() throws {
        let folder = try TemporaryFolder()
        try folder.write("members", "http://a:1\n  http://b:2,\n\nhttp://[::1]\n")
        var settings = ClusterSettings()
        settings.members = .file(folder.path + "/members")
        let texts = try EtcdAccess(settings).servers.map(\.text)
        #expect(texts == ["http://a:1", "http://b:2", "http://[::1]:2379"])
    }

    @Test(arguments: ["", "\n", "a:2379", "http://a http://b/c"])
    func `a file without addresses is refused`(text: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("members", text)
        var settings = ClusterSettings()
        settings.members = .file(folder.path + "/members")
        #expect(failure(settings)?.contains("needs the addresses of etcd in lines") == true)
    }

    @Test func `addresses in a file need TLS as others do`() throws {
        let folder = try TemporaryFolder()
        try folder.write("members", "http://a\nhttps://b")
        var settings = ClusterSettings()
        settings.members = .file(folder.path + "/members")
        #expect(failure(settings)?.contains("https:// for all members, or for none") == true)
        try folder.write("members", "http://a")
        #expect(failure(settings) == nil)
        settings.authorities = "ca.pem"
        #expect(failure(settings)?.contains("need addresses that all begin with https") == true)
        settings.members = .file(folder.path + "/none")
        #expect(failure(settings)?.hasPrefix("--cluster: ") == true)
    }

    @Test(arguments: ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
    func `invalid authorities are refused`(text: String) throws {
        let folder = try TemporaryFolder()
        var settings = ClusterSettings()
        settings.members = .listed([try #require(EtcdServer("https://a"))])
        settings.authorities = folder.path + "/ca.pem"
        #expect(failure(settings)?.hasPrefix("--cluster-ca: ") == true)
        try folder.write("ca.pem", TestCertificate("authority", isAuthority: true).certificate)
        #expect(failure(settings) == nil)
        try folder.write("ca.pem", text)
        #expect(failure(settings)?.hasPrefix("--cluster-ca: ") == true)
    }

    @Test func `a certificate and a key that do not belong together are refused`() throws {
        let folder = try TemporaryFolder()
        let authority = TestCertificate("authority", isAuthority: true)
        let (one, other) = (
            TestCertificate("one", signedBy: authority),
            TestCertificate("other", signedBy: authority)
        )
        try folder.write("one.pem", one.certificate)
        try folder.write("one.key", one.key)
        try folder.write("other.key", other.key)
        var settings = ClusterSettings()
        settings.members = .listed([try #require(EtcdServer("https://a"))])
        settings.certificate = folder.path + "/one.pem"
        #expect(failure(settings)?.contains("need each other") == true)
        settings.key = folder.path + "/one.key"
        #expect(failure(settings) == nil)
        settings.key = folder.path + "/other.key"
        #expect(failure(settings)?.hasPrefix("--cluster-certificate: ") == true)
    }
}
