import Foundation
import LatchkeyTestSupport
import Testing

/// Standard streams that are full, closed, or ends of pipes and files.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct StreamTests {
    /// Waits until the program listens.
    ///
    /// Its first line cannot be read, so the port comes from the system. A port that was free a
    /// moment ago can belong to another connection by now.
    private static func awaitService(_ program: Program) throws -> Site {
        var port: UInt16?
        try eventually("the program listens") {
            port = listeningPort(of: program.processIdentifier)
            return port != nil
        }
        let found = try #require(port)
        EncryptedPorts.set(found, isEncrypted: false)
        return Site(port: found)
    }

    /// The port of an IPv4 socket of the process that is in the state LISTEN (`0A`), from
    /// `/proc/net/tcp`: its columns are described in proc_net_tcp.txt of the kernel.
    private static func listeningPort(of process: Int32) -> UInt16? {
        let descriptors = "/proc/\(process)/fd"
        let names = (try? FileManager.default.contentsOfDirectory(atPath: descriptors)) ?? []
        let sockets = Set(
            names.compactMap {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "\(descriptors)/\($0)")
            }
        )
        let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
        for line in table.split(separator: "\n").dropFirst() {
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == "0A", sockets.contains("socket:[\(columns[9])]"),
                let port = columns[1].split(separator: ":").last
            else { continue }
            return UInt16(port, radix: 16)
        }
        return nil
    }

    @Test(arguments: [[Program.FullPipe.errors], [.output], [.output, .errors]])
    func `a reader that does not read stops nothing`(
        fullPipes: [Program.FullPipe]
    ) async throws {
        try await offPool {
            let program = try Program(
                ["serve", "--port", "0", "--http-threads", "2"],
                fullPipes: fullPipes
            )
            let site = try Self.awaitService(program)
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
            let program = try Program(
                ["serve", "--port", "0", "--http-threads", "1"],
                after: "exec \(stream)>&-"
            )
            let site = try Self.awaitService(program)
            let place = "/proc/\(program.processIdentifier)/fd/\(stream)"
            #expect(try FileManager.default.destinationOfSymbolicLink(atPath: place) == "/dev/null")
            let client = try site.client()
            #expect(try client.request("GET", "/healthz").status == 200)
            #expect(program.end() == 0)
            #expect(try client.isClosed(), "no line of the log came here")
        }
    }
}
