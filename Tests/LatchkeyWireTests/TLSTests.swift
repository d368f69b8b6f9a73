import Foundation
import LatchkeyFrame
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The service over TLS: its files, its cookies, the certificates of clients, its own clients.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct TLSTests {
    /// A service with a certificate, whose clients can show one of an authority, and tokens.
    private static func run(
        _ tokens: Tokens,
        _ authority: TestCertificate,
        _ body: @escaping @Sendable (Site, Running, TemporaryFolder) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        try folder.write("authority.pem", authority.certificate)
        let flags = tokens.flags + ["--tls-client-ca", folder.path + "/authority.pem"]
        try await Deployment.encrypted.run(flags) { site, service in
            try body(site, service, folder)
        }
    }

    @Test func `a client's certificate stands for the token of its name`() async throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let tokens = try Tokens(["ann": ["read,write:ann/"], "bob": ["read"]])
        let (mine, other) = ("/v1/properties/ann%2Fa", "/v1/properties/b")
        try await Self.run(tokens, authority) { site, _, _ in
            for (name, method, target, fields, status) in [
                ("ann", "PUT", mine, [], 201), ("ann", "PUT", other, [], 403),
                ("bob", "GET", mine, [], 200), ("eve", "GET", mine, [], 401),
                // A token that is sent counts more than the certificate.
                ("ann", "PUT", mine, tokens.headers("bob"), 403),
                ("ann", "GET", other, ["Authorization: Bearer x"], 401),
                ("ann", "GET", mine, ["Authorization: Basic x", "Authorization: Bearer x"], 401),
                ("ann", "GET", mine, ["Authorization: Bearer\tx"], 401),
                ("ann", "GET", mine, ["Authorization:"], 401),
                ("ann", "GET", mine, ["Authorization: X y"], 200),
                // A page of another site has a browser show the certificate, too.
                ("ann", "PUT", mine, ["Sec-Fetch-Site: cross-site"], 403),
                // It makes no session: that is for those who hold a token.
                ("ann", "POST", "/v1/session", [], 401),
            ] as [(String, String, String, [String], Int)] {
                let shown = TestCertificate(name, isForClients: true, signedBy: authority)
                let client = try site.client(offer: TLSOffer(certificate: shown))
                let body: [UInt8]? = method == "PUT" ? [0x31] : nil
                let answer = try client.request(method, target, headers: fields, body: body)
                #expect(answer.status == status, "\(name) \(method) \(target) \(fields)")
            }
            #expect(try site.ask("GET", other).status == 401)
        }
    }

    @Test func `a client's certificate ends, and so does its authority`() async throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let tokens = try Tokens(["ann": ["read"]])
        try await Self.run(tokens, authority) { site, service, folder in
            let clients = try [3, 3600].map { seconds in
                let shown = TestCertificate(
                    "ann",
                    isForClients: true,
                    signedBy: authority,
                    endsIn: seconds
                )
                return try site.client(offer: TLSOffer(certificate: shown))
            }
            func status(_ index: Int) throws -> Int {
                try clients[index].request("GET", "/v1/properties").status
            }
            try eventually("the certificate has ended") { try status(0) == 401 }
            #expect(try status(1) == 200)
            let other = TestCertificate("authority", isAuthority: true)
            try folder.write("authority.pem", other.certificate)
            service.reload()
            #expect(try status(1) == 401)
        }
    }

    @Test func `a cookie is for TLS only, and the port for operators speaks it`() async throws {
        let folder = try TemporaryFolder()
        let tokens = try Tokens(["ci": ["read,write"]])
        let flags = try folder.tlsFlags(TestCertificate()) + tokens.flags + ["--admin-port", "0"]
        let service = try RunningService(ServeCommand.configuration(["--port", "0"] + flags))
        let ports = [service.port, try #require(service.adminPort)]
        for port in ports { EncryptedPorts.set(port, isEncrypted: true) }
        try await offPool {
            let site = Site(port: ports[0])
            let answer = try site.ask("POST", "/v1/session", headers: tokens.headers("ci"))
            #expect(answer.headers["set-cookie"]?.hasSuffix("; Secure") == true)
            #expect(try Site(port: ports[1]).ask("GET", "/healthz").status == 200)
        }
        for port in ports { EncryptedPorts.set(port, isEncrypted: false) }
        #expect(try await offPool { service.drain() }.isWritten)
        withExtendedLifetime(folder) {}
    }
}
