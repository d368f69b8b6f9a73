import Foundation
import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The service over TLS: its files, its cookies, the certificates of clients, its own clients.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct TLSTests {
    private static func isShown(_ certificate: TestCertificate, by site: Site) throws -> Bool {
        let probe = try TLSProbe(site.port)
        defer { probe.close() }
        return probe.certificate == certificate.der
    }

    private static func awaitShown(_ certificate: TestCertificate, by site: Site) throws {
        try eventually("the certificate is shown") { try isShown(certificate, by: site) }
    }

    private static func run(
        _ folder: TemporaryFolder,
        _ flags: [String],
        _ body: @escaping @Sendable (Program, Site) throws -> Void
    ) async throws {
        let program = try Program(["serve", "--port", "0"] + flags)
        try await offPool {
            let site = Site(port: try program.awaitPort())
            try body(program, site)
        }
        #expect(try await offPool { program.end() } == 0)
        withExtendedLifetime(folder) {}
    }

    @Test func `a certificate that changes is shown, and a bad one is not`() async throws {
        let folder = try TemporaryFolder()
        let first = TestCertificate("first")
        let flags = try folder.tlsFlags(first)
        try await Self.run(folder, flags) { program, site in
            let kept = try site.client()
            #expect(try kept.request("PUT", "/v1/properties/a", body: [0x31]).status == 201)
            #expect(try Self.isShown(first, by: site))
            // Both files, with a moment in which they do not belong together.
            let second = TestCertificate("second")
            try folder.write(second)
            try Self.awaitShown(second, by: site)
            try program.awaitErrors(containing: "certificate read")
            // A key of another certificate stays in doubt, and is said once.
            try folder.write("key.pem", TestCertificate().key)
            try program.awaitErrors(containing: "certificate not read")
            #expect(try Self.isShown(second, by: site))
            // SIGHUP reads at once, and says at once what is wrong.
            kill(program.processIdentifier, SIGHUP)
            try program.awaitErrors(containing: "certificate not read")
            let third = TestCertificate("third")
            try folder.write(third)
            kill(program.processIdentifier, SIGHUP)
            try Self.awaitShown(third, by: site)
            #expect(try kept.request("GET", "/v1/properties/a").text == "1")
            let metrics = try kept.request("GET", "/metrics").text
            #expect(metrics.contains("\nlatchkey_tls_certificate_expiry_seconds "))
        }
    }

    @Test func `flags of TLS that do not belong together are refused`() async throws {
        let folder = try TemporaryFolder()
        let flags = try folder.tlsFlags(TestCertificate())
        let pairs: [([String], String)] = [
            (Array(flags.prefix(2)), "need each other"),
            (Array(flags.suffix(2)), "need each other"),
            (flags + ["--tls-client-ca", flags[1]], "--token-file"),
            (["--tls-certificate", folder.path + "/none"] + flags.suffix(2), "cannot be read"),
            (["--tls-certificate", flags[3], "--tls-key", flags[1]], "is not right"),
        ]
        for (flags, reason) in pairs {
            let result = try await Program.result(of: ["serve", "--port", "0"] + flags)
            #expect(result.status == 1)
            #expect(result.errors.contains(reason), "\(result.errors)")
        }
    }

    @Test func `a client's certificate stands for the token of its name`() async throws {
        let folder = try TemporaryFolder()
        let authority = TestCertificate("authority", isAuthority: true)
        try folder.write("authority.pem", authority.certificate)
        let tokens = try Tokens(["ann": ["read,write:ann/"], "bob": ["read"]])
        let flags =
            try folder.tlsFlags(TestCertificate()) + tokens.flags + [
                "--tls-client-ca", folder.path + "/authority.pem",
            ]
        try await Self.run(folder, flags) { _, site in
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
        let folder = try TemporaryFolder()
        let authority = TestCertificate("authority", isAuthority: true)
        try folder.write("authority.pem", authority.certificate)
        let tokens = try Tokens(["ann": ["read"]])
        let flags =
            try folder.tlsFlags(TestCertificate()) + tokens.flags + [
                "--tls-client-ca", folder.path + "/authority.pem",
            ]
        try await Self.run(folder, flags) { program, site in
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
            let short = try connect(endsIn: 8)
            let long = try connect(endsIn: 3600)
            #expect(try short.status(request) == 200)
            try eventually("the certificate has ended") { try short.status(request) == 401 }
            #expect(try long.status(request) == 200)
            // Another certificate of the service is no reason, other authorities are.
            let next = TestCertificate("next")
            try folder.write(next)
            try Self.awaitShown(next, by: site)
            #expect(try long.status(request) == 200)
            let other = TestCertificate("authority", isAuthority: true)
            try folder.write("authority.pem", other.certificate)
            kill(program.processIdentifier, SIGHUP)
            try eventually("the authority is gone") { try long.status(request) == 401 }
            // A certificate that has ended does not take the place of one that has not.
            try folder.write(TestCertificate(endsIn: -60))
            try program.awaitErrors(containing: "has ended")
            #expect(try Self.isShown(next, by: site))
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

    private static func processorSeconds(_ program: Program) -> Double {
        var clock = clockid_t()
        var time = timespec()
        #expect(unsafe clock_getcpuclockid(program.processIdentifier, &clock) == 0)
        #expect(unsafe clock_gettime(clock, &time) == 0)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test(arguments: [[0x16], [0x16, 3, 1, 2, 0]])
    func `handshakes that wait for their clients take no processor time`(
        bytes: [UInt8]
    ) async throws {
        let folder = try TemporaryFolder()
        try await Self.run(folder, folder.tlsFlags(TestCertificate())) { program, site in
            let connections = try (0..<8).map { _ in
                try LoopbackConnection(port: site.port, isEncrypted: false)
            }
            #expect(connections.allSatisfy { $0.send(bytes) })
            // Sleeps because processor time needs time. A loop that spins takes all of it.
            Thread.sleep(forTimeInterval: 0.2)
            let before = Self.processorSeconds(program)
            // Sleeps because the same holds for the time that is measured.
            Thread.sleep(forTimeInterval: 1)
            #expect(Self.processorSeconds(program) - before < 0.25)
            // Others are served meanwhile.
            #expect(try site.ask("GET", "/healthz").status == 200)
            for connection in connections { connection.close() }
        }
    }
}
