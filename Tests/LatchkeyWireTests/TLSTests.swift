import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The service over TLS: its files, its cookies, the certificates of clients, its own clients.
@Suite(.timeLimit(.minutes(3)), .serialized)
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
        try await Self.run(tokens, authority) { site, _, _ in
            try site.isWell()
            func status(
                _ name: String,
                _ method: String,
                _ path: String,
                _ fields: String = ""
            )
                throws -> Int
            {
                let certificate = TestCertificate(name, isForClients: true, signedBy: authority)
                let probe = try TLSProbe(site.port, certificate: certificate)
                defer { probe.close() }
                let line = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
                let length = method == "PUT" ? "Content-Length: 1\r\n" : ""
                return try probe.status("\(line)\(fields)\(length)\r\n\(length.isEmpty ? "" : "1")")
            }
            #expect(try status("ann", "PUT", "/v1/properties/ann%2Fa") == 201)
            #expect(try status("ann", "PUT", "/v1/properties/b") == 403)
            #expect(try status("bob", "GET", "/v1/properties/ann%2Fa") == 200)
            #expect(try status("eve", "GET", "/v1/properties/ann%2Fa") == 401)
            // A token that is sent counts more than the certificate.
            let bob = "Authorization: Bearer \(tokens["bob"])\r\n"
            #expect(try status("ann", "PUT", "/v1/properties/ann%2Fa", bob) == 403)
            let wrong = "Authorization: Bearer x\r\n"
            #expect(try status("ann", "GET", "/v1/properties/b", wrong) == 401)
            for fields in [
                "Authorization: Basic x\r\nAuthorization: Bearer x\r\n",
                "Authorization: Bearer\tx\r\n", "Authorization:\r\n",
            ] {
                #expect(try status("ann", "GET", "/v1/properties/ann%2Fa", fields) == 401)
            }
            let proxys = "Authorization: X y\r\n"
            #expect(try status("ann", "GET", "/v1/properties/ann%2Fa", proxys) == 200)
            // A page of another site has a browser show the certificate, too.
            let cross = "Sec-Fetch-Site: cross-site\r\n"
            #expect(try status("ann", "PUT", "/v1/properties/ann%2Fa", cross) == 403)
            #expect(try site.ask("GET", "/v1/properties/b").status == 401)
            // It makes no session: that is for those who hold a token.
            #expect(try status("ann", "POST", "/v1/session", "Content-Length: 0\r\n") == 401)
        }
    }

    @Test func `a client's certificate ends, and so does its authority`() async throws {
        let authority = TestCertificate("authority", isAuthority: true)
        let tokens = try Tokens(["ann": ["read"]])
        try await Self.run(tokens, authority) { site, service, folder in
            func connect(endsIn seconds: Int) throws -> TLSProbe {
                let shown = TestCertificate(
                    "ann",
                    isForClients: true,
                    signedBy: authority,
                    endsIn: seconds
                )
                return try TLSProbe(site.port, certificate: shown)
            }
            let request = "GET /v1/properties HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let short = try connect(endsIn: 3)
            let long = try connect(endsIn: 3600)
            try eventually("the certificate has ended") { try short.status(request) == 401 }
            #expect(try long.status(request) == 200)
            let other = TestCertificate("authority", isAuthority: true)
            try folder.write("authority.pem", other.certificate)
            service.reload()
            #expect(try long.status(request) == 401)
            short.close()
            long.close()
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
