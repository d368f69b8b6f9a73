import Foundation
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The ways in which a client reaches its service: each test body runs in both.
enum ClientWay: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case plain = "plain"
    case secured = "with TLS and a token"

    var testDescription: String { rawValue }

    /// Starts a service, runs the body, and ends the service.
    func serve(
        _ flags: [String] = [],
        rights: [String] = ["read,write,export,import"],
        _ body: @escaping @Sendable (ClientRig) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        var flags = ["serve", "--port", "0", "--start-revision", "0"] + flags
        var environment = ["XDG_CONFIG_HOME": folder.path]
        let tokens = try Tokens(["me": rights])
        if self == .secured {
            flags += try folder.tlsFlags(TestCertificate()) + tokens.flags
            environment["LATCHKEY_CA"] = folder.path + "/certificate.pem"
            environment["LATCHKEY_TOKEN"] = tokens["me"]
        }
        let program = try Program(flags)
        try await offPool { [environment] in
            let port = try program.awaitPort()
            var environment = environment
            let scheme = self == .plain ? "http" : "https"
            environment["LATCHKEY_URL"] = "\(scheme)://localhost:\(port)"
            try body(
                ClientRig(service: program, port: port, environment: environment, folder: folder)
            )
        }
        #expect(try await offPool { program.end() } == 0)
    }
}

/// A service, and the program as its client.
struct ClientRig: Sendable {
    let service: Program
    let port: UInt16
    /// With which a client finds the service.
    let environment: [String: String]
    let folder: TemporaryFolder

    /// Starts the program as a client; standard input is the text, or nothing.
    func start(_ arguments: [String], input: String? = nil) throws -> Program {
        guard let input else { return try Program(arguments, environment: environment) }
        let name = UUID().uuidString
        try folder.write(name, input)
        return try Program(
            arguments,
            environment: environment,
            after: "exec <'\(folder.path)/\(name)'"
        )
    }

    /// Runs the program as a client to its end.
    func run(
        _ arguments: String...,
        input: String? = nil
    ) throws -> (status: Int32, output: String, errors: String) {
        try start(arguments, input: input).finish()
    }

    /// Runs the program as a client, which has to be done, and returns what it printed.
    func output(
        _ arguments: String...,
        input: String? = nil,
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        let result = try start(arguments, input: input).finish()
        #expect(result.status == 0, "\(result.errors)", sourceLocation: location)
        #expect(result.errors.isEmpty, sourceLocation: location)
        return result.output
    }
}
