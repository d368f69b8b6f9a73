import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

/// `latchkey advise` as a process, with real services and with others.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct AdviseTests {
    private static func advise(
        _ arguments: String...
    ) throws -> (status: Int32, output: String, errors: String) {
        try Program(["advise"] + arguments, environment: ["COLUMNS": "60"]).finish()
    }

    private static func answer(_ text: String) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require(json)
    }

    /// Lets one client write all the time that the body runs.
    private static func withLoad(on site: Site, _ body: () throws -> Void) throws {
        let isOver = Synchronized<Bool, LockStrategy>(false)
        let first = try site.client()
        _ = try first.request("PUT", "/v1/properties/n", body: [0x31])
        let load = TestThread {
            guard let client = try? site.client() else { return }
            while !isOver.read({ $0 }) {
                _ = try? client.request("PUT", "/v1/properties/n", body: [0x31])
            }
        }
        let outcome = Result { try body() }
        isOver.write { $0 = true }
        #expect(load.join())
        try outcome.get()
    }

    @Test func `a service under load is told what its lock costs, and what could be saved`()
        async throws
    {
        try await Program.serve(["--metering", "full"]) { site in
            try Self.withLoad(on: site) {
                let url = "http://localhost:\(site.port)/"
                var answer: [String: Any] = [:]
                try eventually("there was enough traffic in one second") {
                    let result = try Self.advise(url, "--seconds", "1s", "--json", "-")
                    #expect(result.status == 0, "\(result.errors)")
                    #expect(result.errors.contains("lock"), "the text is there")
                    answer = try Self.answer(result.output)
                    let advice = try #require(answer["advice"] as? [String: Any])
                    return advice["verdict"] as? String != "too-little-traffic"
                }
                #expect(answer["schema"] as? String == "latchkey-advice/2")
                #expect(answer["url"] as? String == url)
                let headline = try #require(answer["headline"] as? String)
                #expect(headline.contains("another strategy could save at most"), "\(headline)")
                let advice = try #require(answer["advice"] as? [String: Any])
                #expect(advice["strategy"] as? String == "lock")
                func figure(_ name: String) throws -> Double {
                    try #require(advice[name] as? Double, "\(name)")
                }
                #expect(try (0...1).contains(figure("savingMax")))
                #expect(try figure("savingMax") == figure("waitShare"))
                #expect(try figure("operationsPerSecond") > 1)
                let hold = try figure("holdMeanNanoseconds")
                let rate = try figure("operationsPerSecond")
                #expect(try hold > 0 && (0...1).contains(figure("holdShare")))
                #expect(hold * rate < 1e9, "one client holds one lock at a time")
            }
        }
    }

    @Test func `it finds its service as other clients do, and shows no token`() async throws {
        let tokens = try Tokens(["a": ["read"]])
        try await Program.serve(tokens.flags) { site in
            func advise(_ token: String) throws -> (status: Int32, output: String, errors: String) {
                try Program(
                    ["advise", "--seconds=1"],
                    environment: [
                        "LATCHKEY_URL": "http://127.0.0.1:\(site.port)", "LATCHKEY_TOKEN": token,
                        "COLUMNS": "60",
                    ]
                ).finish()
            }
            let accepted = try advise(tokens["a"])
            #expect(accepted.status == 0, "\(accepted.errors)")
            #expect(accepted.output.hasPrefix("There is too little traffic to tell."))
            #expect(accepted.output.split(separator: "\n").allSatisfy { $0.count <= 60 })
            for wrong in ["not-a-token", "two words"] {
                let refused = try advise(wrong)
                #expect(refused.status == 2)
                #expect(refused.errors.contains("token"))
                #expect(!refused.errors.contains(wrong))
            }
        }
    }

    @Test(arguments: ["off", "counts"])
    func `a service that does not time waits is told to`(level: String) async throws {
        try await Program.serve(["--metering", level]) { site in
            let result = try Self.advise("http://127.0.0.1:\(site.port)")
            #expect(result.status == 2)
            #expect(result.errors.contains("--metering sampled"))
            #expect(result.output.isEmpty)
        }
    }

    @Test(arguments: [
        "ftp://127.0.0.1", "https://127.0.0.1/v1", "http://", "http://127.0.0.1/v1/contention",
        "http://127.0.0.1:99999", "http://127.0.0.1:0", "http://127.0.0.1?x", "two words",
    ])
    func `an invalid address is a sentence and status 2`(address: String) async throws {
        let result = try await Program.result(of: ["advise", address])
        #expect(result.status == 2)
        #expect(
            result.errors == """
                latchkey: '\(address)' is not the address of a service: give one such as \
                http://127.0.0.1:8080.
                Try 'latchkey advise --help'.

                """
        )
    }

    @Test(arguments: [
        ("HTTP/1.1 404 Not Found\r\n\r\n", "is not a Latchkey service: it answers /v1/contention"),
        ("HTTP/1.1 200 OK\r\n\r\n{\"rows\": 1}", "/v1/contention has another format."),
        ("HTTP/1.1 200 OK\r\n\r\n<html>", "/v1/contention has another format."),
        ("SSH-2.0\r\n", "the answer is not HTTP."),
    ])
    func `another server is a sentence and status 2`(
        text: String,
        sentence: String
    ) async throws {
        let server = try PlainServer(answer: text)
        let result = try await Program.result(of: ["advise", "http://127.0.0.1:\(server.port)"])
        #expect(result.status == 2)
        #expect(result.errors.contains(sentence), "\(result.errors)")
        #expect(result.errors.filter { $0 == "\n" }.count == 1)
        withExtendedLifetime(server) {}
    }
}

/// A port of loopback that answers each connection with the same text.
private final class PlainServer {
    let port: UInt16
    private let descriptor: Int32

    init(answer: String) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.descriptor = descriptor
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(descriptor, address, length) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound, listen(descriptor, 16) == 0 else {
            throw POSIXError(.EADDRINUSE)
        }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread {
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { return }
                // The request is read, since unread bytes would reset the connection.
                var buffer = [UInt8](repeating: 0, count: 4096)
                _ = unsafe recv(connection, &buffer, buffer.count, 0)
                _ = unsafe send(connection, answer, answer.utf8.count, Int32(MSG_NOSIGNAL))
                close(connection)
            }
        }
    }

    deinit {
        // Ends the thread in accept().
        shutdown(descriptor, Int32(SHUT_RDWR))
        close(descriptor)
    }
}
