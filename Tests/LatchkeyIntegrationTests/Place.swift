import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// Where the service under test runs: one body of tests runs in both places, with the same flags.
enum Place: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case inProcess = "in this process"
    case program = "as the program"

    var testDescription: String { rawValue }

    /// Starts a service, runs the body with a client of it, and ends the service, which must end
    /// well.
    func serve(
        _ flags: [String] = [],
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        let flags = ["--port", "0", "--log-level", "error", "--drain-seconds", "5"] + flags
        switch self {
        case .inProcess:
            let instance = try RunningService(ServeCommand.configuration(flags))
            let outcome = await catching { try body(Site(port: instance.port)) }
            let cutOffCount = try await offPool { instance.drain() }
            try outcome.get()
            #expect(cutOffCount == (0, 0))
        case .program:
            let program = try Program(["serve"] + flags)
            let outcome = await catching { try body(Site(port: program.awaitPort())) }
            let status = try await offPool { program.end() }
            try outcome.get()
            #expect(status == 0)
        }
    }

    private func catching(
        _ body: @escaping @Sendable () throws -> Void
    ) async -> Result<Void, any Error> {
        do {
            return .success(try await offPool(body))
        } catch {
            return .failure(error)
        }
    }
}

/// A running service, and short ways to ask it something.
struct Site: Sendable {
    let port: UInt16

    func client() throws -> HTTPClient {
        try HTTPClient(port: port)
    }

    /// One request on a connection of its own.
    func ask(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = []
    ) throws -> HTTPAnswer {
        try client().request(method, target, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Checks that the service is up, whatever was done to it before.
    func isWell() throws {
        #expect(try ask("GET", "/healthz").text == #"{"status":"ok"}"#)
    }
}
