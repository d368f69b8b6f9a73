import Foundation
import LatchkeyTestSupport
import Testing

/// Standard streams that are full, closed, or ends of pipes and files.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct StreamTests {
    /// A port that was free a moment ago, for programs whose first line cannot be read.
    private static func freePort() throws -> UInt16 {
        let probe = try Program(["serve", "--port", "0"])
        let port = try probe.awaitPort()
        _ = probe.end()
        return port
    }

    /// Waits until the port answers.
    private static func awaitService(_ port: UInt16) throws -> Site {
        let site = Site(port: port)
        let end = ContinuousClock.now + .seconds(20)
        while (try? site.ask("GET", "/healthz")) == nil {
            guard ContinuousClock.now < end else {
                throw ProgramError(description: "no server answers at port \(port)")
            }
            // Sleeps because a program without output gives no other sign.
            usleep(2_000)
        }
        return site
    }

    @Test(
        arguments: [[Program.FullPipe.errors], [.output], [.output, .errors]],
        [
            [], ["--thread-per-connection"],
        ]
    )
    func `a reader that does not read stops nothing`(
        fullPipes: [Program.FullPipe],
        flags: [String]
    ) async throws {
        try await offPool {
            let port = try Self.freePort()
            let program = try Program(
                ["serve", "--port", "\(port)", "--http-threads", "2"] + flags,
                fullPipes: fullPipes
            )
            let site = try Self.awaitService(port)
            for _ in 0..<2_000 {
                let client = try site.client()
                // Libmicrohttpd warns of each of these.
                try client.send("GET / HTTP/1.1\r\nno colon\r\n\r\n")
                client.endSending()
            }
            let metrics = try site.ask("GET", "/metrics").text
            #expect(metrics.contains("latchkey_log_dropped_total"))
            #expect(program.end() == 0)
        }
    }

    @Test(arguments: [0, 1, 2])
    func `no connection takes the number of a stream that was closed`(stream: Int) async throws {
        try await offPool {
            let port = try Self.freePort()
            let program = try Program(
                ["serve", "--port", "\(port)", "--http-threads", "1"],
                after: "exec \(stream)>&-"
            )
            let site = try Self.awaitService(port)
            let place = "/proc/\(program.processIdentifier)/fd/\(stream)"
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: place) == "/dev/null")
            let client = try site.client()
            #expect(try client.request("GET", "/healthz").status == 200)
            #expect(program.end() == 0)
            #expect(try client.isClosed(), "no line of the log came here")
        }
    }

    @Test(arguments: [["--version"], ["strategies"], ["serve", "--help"]])
    func `what is printed to a closed stream is not printed`(arguments: [String]) async throws {
        let result = try await Program.result(of: arguments, after: "exec >&-")
        #expect(result.status == 2)
        #expect(
            result.errors == "latchkey: standard output cannot be written: Bad file descriptor.\n"
        )
    }
}
