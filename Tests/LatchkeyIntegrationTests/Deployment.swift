import LatchkeyService
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The two ways to run the service under test: each test body runs in both, with the same flags.
enum Deployment: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case inProcess = "in this process"
    case program = "as the program"

    var testDescription: String { rawValue }

    /// Starts a service, runs the body, and ends the service, which must end without errors.
    func serve(
        _ flags: [String] = [],
        _ body: @escaping @Sendable (Site) throws -> Void
    ) async throws {
        // Tests name revisions.
        let first = flags.contains("--start-revision") ? [] : ["--start-revision", "0"]
        let common = ["--port", "0", "--log-level", "error", "--drain-seconds", "5"]
        let flags = common + first + flags
        switch self {
        case .inProcess:
            let service = try RunningService(ServeCommand.configuration(flags))
            let outcome = await catching { try body(Site(port: service.port)) }
            let drained = try await offPool { service.drain() }
            try outcome.get()
            #expect(drained == Drained(requestCount: 0, answerCount: 0, isWritten: true))
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

/// A running service, and short ways to send it requests.
struct Site: Sendable {
    let port: UInt16

    /// Connects from 127.0.0.N.
    func client(from number: UInt8 = 1) throws -> HTTPClient {
        try HTTPClient(port: port, from: number)
    }

    /// One request on a connection of its own, from 127.0.0.N.
    func ask(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> HTTPAnswer {
        try client(from: number)
            .request(method, target, headers: headers, body: body.map { Array($0.utf8) })
    }

    /// Waits until a metric without labels has a value; asks from 127.0.0.N.
    func awaitMetric(
        _ metric: String,
        _ value: Int,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws {
        let end = ContinuousClock.now + .seconds(20)
        while try !ask("GET", "/metrics", headers: headers, from: number).text
            .contains("\n\(metric) \(value)\n")
        {
            guard ContinuousClock.now < end else {
                throw ProgramError(description: "\(metric) is not \(value)")
            }
        }
    }

    /// Checks that the service is up, whatever was done to it before.
    func isWell() throws {
        #expect(try ask("GET", "/healthz").text == #"{"status":"ok"}"#)
    }
}
