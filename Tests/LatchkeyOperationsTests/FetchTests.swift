import Foundation
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyOperations

/// The addresses that may be fetched, and the limits.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct FetchTests {
    private static func limits(
        _ allowed: [String],
        seconds: Int = 10,
        bytes: Int = 1 << 20
    ) -> FetchLimits {
        var limits = FetchLimits()
        limits.allowed = allowed
        limits.timeLimit = .seconds(seconds)
        limits.byteCountMax = bytes
        return limits
    }

    private static func fetch(
        _ url: String,
        _ limits: FetchLimits,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) -> Result<String, FetchFailure> {
        Result { () throws(FetchFailure) in
            let text = try Fetch(limits, isCancelled: isCancelled).text(url)
            return String(decoding: text, as: UTF8.self)
        }
    }

    @Test func `an address that is listed itself is fetched from`() throws {
        let server = try PlainServer { _ in .answer("200 OK", [], "[1, 2]") }
        let limits = Self.limits([server.host])
        let url = "\(server.base)/a?b=c"
        #expect(Self.fetch(url, limits) == .success("[1, 2]"))
        #expect(server.requests.first?.hasPrefix("GET /a?b=c HTTP/1.1\r\n") == true)
        // Other spellings of the address lead to the same place.
        #expect(
            Self.fetch("http://127.1:\(server.port)/", limits) == .success("[1, 2]")
        )
        let bench = Bench(fetching: limits)
        let id = try bench.submit(OperationPlan(steps: [.fetch(url), .put("fetched", nil)]))
        #expect(try bench.end(of: id).state == .finished)
        #expect(bench.value("fetched") == "[1, 2]")
    }

    @Test func `the trace of the request goes on`() throws {
        let server = try PlainServer { _ in .answer("200 OK", [], "1") }
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let bench = Bench(fetching: Self.limits([server.host]))
        let url = "\(server.base)/"
        for traceparent in [trace, nil] {
            let origin = OperationOrigin(address: "127.0.0.1", traceparent: traceparent)
            let id = try bench.submit(OperationPlan(origin: origin, steps: [.fetch(url)]))
            #expect(try bench.end(of: id).state == .finished)
        }
        let found = server.requests.map { $0.contains("\r\ntraceparent: \(trace)\r\n") }
        #expect(found == [true, false])
    }

    @Test func `nothing else is connected to`() throws {
        let server = try PlainServer { _ in .answer("200 OK", [], "1") }
        let port = server.port
        for (allowed, url) in [
            ([], "http://127.0.0.1:\(port)/"),
            // A name that leads to loopback: the address is not listed.
            (["localhost:\(port)"], "http://localhost:\(port)/"),
            (["127.0.0.1:\(port == 1 ? 2 : 1)"], "http://127.0.0.1:\(port)/"),
            // Without a port, the standard ones are meant.
            (["127.0.0.1"], "http://127.0.0.1:\(port)/"),
            (["127.0.0.1:\(port)"], "http://127.0.0.2:\(port)/"),
            (["127.0.0.1:\(port)"], "http://[::ffff:127.0.0.1]:\(port)/"),
            (["127.0.0.1:\(port)"], "ftp://127.0.0.1:\(port)/"),
            (["example.org"], "http://example.org.:80/"),
            (["example.org"], "http://example.org.evil.test/"),
        ] {
            #expect(
                Self.fetch(url, Self.limits(allowed)) == .failure(.notAllowed),
                "\(url)"
            )
        }
        #expect(server.requests.isEmpty)
        let limits = Self.limits(["127.0.0.1:\(port)", "localhost:\(port)"])
        #expect(
            Self.fetch("http://localhost:\(port)/", limits) == .success("1"),
            "the name and its address are both listed"
        )
        for url in [
            "http://user:pass@127.0.0.1:\(port)/", "no url", "http://", "file:///etc/passwd",
        ] {
            #expect(Self.fetch(url, limits) == .failure(.notURL), "\(url)")
        }
    }

    @Test func `redirects are followed on the list only, and not without end`() throws {
        let other = try PlainServer { _ in .answer("200 OK", [], "\"secret\"") }
        let server = try PlainServer { request in
            let target = request.split(separator: " ")[1]
            return switch target {
            case "/in": .answer("302 Found", ["Location: /end"], "")
            case "/out": .answer("302 Found", ["Location: http://127.0.0.1:\(other.port)/"], "")
            case "/file": .answer("302 Found", ["Location: file:///etc/passwd"], "")
            case "/round": .answer("307 Temporary Redirect", ["Location: /round"], "")
            default: .answer("200 OK", [], "\"end\"")
            }
        }
        let limits = Self.limits([server.host])
        #expect(Self.fetch("\(server.base)/in", limits) == .success("\"end\""))
        #expect(Self.fetch("\(server.base)/out", limits) == .failure(.notAllowed))
        #expect(other.requests.isEmpty)
        #expect(Self.fetch("\(server.base)/file", limits) == .failure(.notURL))
        let before = server.requests.count
        #expect(Self.fetch("\(server.base)/round", limits) == .failure(.tooManyRedirects))
        #expect(server.requests.count - before == 6)
    }

    @Test func `the head and the trailers of an answer are bounded together`() throws {
        let bound = 64 * 1024
        /// Lines of 64 bytes, and one that is longer: this many bytes in all.
        @Sendable func lines(_ count: Int) -> String {
            let line = "X: " + String(repeating: "x", count: 59) + "\r\n"
            let rest = String(repeating: "y", count: count % 64)
            return String(repeating: line, count: count / 64 - 1) + "Y\(rest)"
                + line
                .dropFirst()
        }
        let start = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
        let chunked = start + "Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n"
        let server = try PlainServer { request in
            let target = request.split(separator: " ")[1]
            return switch target {
            case "/head": .raw(start + lines(bound - start.utf8.count - 2) + "\r\n1")
            case "/long-head": .raw(start + lines(bound - start.utf8.count - 1) + "\r\n1")
            case "/trailers": .raw(chunked + lines(bound - 200) + "\r\n")
            default: .raw(chunked + lines(bound) + "\r\n")
            }
        }
        let limits = Self.limits([server.host])
        for target in ["/head", "/trailers"] {
            #expect(Self.fetch(server.base + target, limits) == .success("1"), "\(target)")
        }
        for target in ["/long-head", "/long-trailers"] {
            let result = Self.fetch(server.base + target, limits)
            #expect(result == .failure(.tooLarge), "\(target)")
        }
    }

    @Test func `bodies are bounded, with and without a declared length`() throws {
        let server = try PlainServer { request in
            let count = request.hasPrefix("GET /right") ? 100 : 101
            let body = String(repeating: "1", count: count)
            return request.contains("endless")
                ? .endless : .answer("200 OK", request.contains("declared") ? [] : nil, body)
        }
        let limits = Self.limits([server.host], bytes: 100)
        for kind in ["declared", "open"] {
            let right = Self.fetch("\(server.base)/right/\(kind)", limits)
            #expect(right == .success(String(repeating: "1", count: 100)))
            #expect(Self.fetch("\(server.base)/long/\(kind)", limits) == .failure(.tooLarge))
        }
        #expect(Self.fetch("\(server.base)/endless", limits) == .failure(.tooLarge))
    }

    @Test func `a server that does not answer is waited for as long as allowed`() throws {
        let server = try PlainServer { _ in .silence }
        let limits = Self.limits([server.host], seconds: 1)
        let url = "\(server.base)/"
        #expect(Self.fetch(url, limits) == .failure(.timedOut))
        let patient = Bench(fetching: Self.limits([server.host], seconds: 3600))
        let id = try patient.submit(OperationPlan(steps: [.fetch(url)]))
        server.awaitRequests(2)
        _ = patient.operations.cancel(id)
        #expect(try patient.end(of: id).state == .cancelled, "a fetch can be cancelled")
    }

    @Test func `other statuses, broken answers and other texts are errors`() throws {
        let server = try PlainServer { request in
            switch request.split(separator: " ")[1] {
            case "/missing": .answer("404 Not Found", [], "{}")
            case "/text": .answer("200 OK", [], "no json")
            default: .broken
            }
        }
        let limits = Self.limits([server.host])
        #expect(Self.fetch("\(server.base)/missing", limits) == .failure(.status(404)))
        guard case .failure(.unreachable) = Self.fetch("\(server.base)/broken", limits) else {
            Issue.record("a broken answer is an error")
            return
        }
        let bench = Bench(fetching: limits)
        let id = try bench.submit(OperationPlan(steps: [.fetch("\(server.base)/text")]))
        guard case .fetch(.notJSON) = try bench.end(of: id).failure else {
            Issue.record("a text that is not JSON is an error")
            return
        }
    }

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.16.0.1",
        "172.31.255.255", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.7",
        "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::", "::1",
        "::ffff:8.8.8.8", "64:ff9b::808:808", "100::1", "2001:db8::1", "2001::1", "2002:808:808::",
        "fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "3fff::1",
    ])
    func `special addresses are not global`(text: String) throws {
        #expect(try #require(FetchAddress(literal: text)).isGlobal == false)
    }

    @Test(arguments: [
        "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
        "192.167.1.1", "198.17.0.1", "223.255.255.255", "2606:4700::1111", "2a00::1", "2003::1",
    ])
    func `all others are global`(text: String) throws {
        #expect(try #require(FetchAddress(literal: text)).isGlobal)
    }

    @Test(
        arguments: [
            ("Example.ORG", "example.org", nil), ("a-b.c:8080", "a-b.c", 8080),
            ("127.0.0.1:1", "127.0.0.1", 1), ("[::1]", "::1", nil), ("[0:0::1]:99", "::1", 99),
        ] as [(String, String, UInt16?)]
    )
    func `hosts are listed with and without ports`(text: String, host: String, port: UInt16?) {
        #expect(AllowedOrigin(text) == AllowedOrigin(host: host, port: port))
    }

    @Test(arguments: [
        "", ":80", "a:", "a:0", "a:65536", "a:+1", "a b", "http://a", "a/b", "::1", "[::1", "[a]",
        "[127.0.0.1]", "a:1:2", "*",
    ])
    func `other texts are not hosts`(text: String) {
        #expect(AllowedOrigin(text) == nil)
    }
}
