import Foundation
import LatchkeyTestSupport
import Testing

/// The limit on the memory of unsent answers, with clients that ask and do not read.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct AnswerBudgetTests {
    private static let mebibyte = 1_048_576
    private static let flags = [
        "--answer-bytes", "\(40 * mebibyte)", "--max-connections", "1000",
        "--max-body-bytes", "\(2 * mebibyte)", "--client-share", "1/1",
    ]
    private static let value = Array("\"\(String(repeating: "v", count: mebibyte - 2))\"".utf8)
    /// Of different values: one that comes several times is held once.
    private static func gets(_ count: Int) -> String {
        #"{"then":["# + (0..<count).map { #"{"get":"v\#($0)"}"# }.joined(separator: ",") + "]}"
    }
    private static let sixteenGets = gets(16)

    private static func fill(_ site: Site) throws {
        let client = try site.client()
        for name in ["v"] + (0..<16).map({ "v\($0)" }) {
            let answer = try client.request("PUT", "/v1/properties/\(name)", body: value)
            #expect(answer.status < 300)
        }
    }

    /// Sends a request, and reads nothing.
    private static func ask(
        _ site: Site,
        _ method: String,
        _ target: String,
        _ body: String = "",
        field: String = "Accept: */*"
    ) throws -> HTTPClient {
        let client = try site.client()
        try client.send(
            "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(field)\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        )
        return client
    }

    private static func held(_ site: Site) throws -> Int {
        let text = try site.ask("GET", "/metrics").text
        let line = text.split(separator: "\n").first { $0.hasPrefix("latchkey_answer_bytes ") }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }

    private static func awaitHeld(_ site: Site, _ isRight: (Int) -> Bool) throws {
        try eventually("unsent answers hold what they should") { isRight(try held(site)) }
    }

    /// Waits until this many requests of a route were answered.
    private static func awaitRequests(_ site: Site, _ route: String, _ count: Int) throws {
        try eventually("\(count) requests of \(route)") {
            let lines = try site.ask("GET", "/metrics").text.split(separator: "\n").filter {
                $0.hasPrefix("latchkey_http_requests_total{") && $0.contains("route=\"\(route)\"")
            }
            let sum = lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
                .reduce(0, +)
            return sum >= count
        }
    }

    /// Two transactions take 32 MiB of 40, and a third would go beyond.
    private static func useUp(_ site: Site) throws -> [HTTPClient] {
        try fill(site)
        let clients = try (0..<2).map { _ in
            try ask(site, "POST", "/v1/transactions", sixteenGets)
        }
        try awaitHeld(site) { $0 > 32 * mebibyte }
        return clients
    }

    @Test(arguments: [[], ["--strategy", "actor"]])
    func `long answers beyond the bound are refused, and nothing else`(
        flags: [String]
    ) async throws {
        try await Program.serve(Self.flags + flags) { site in
            var clients = try Self.useUp(site)
            let refused = try site.ask("POST", "/v1/transactions", Self.sixteenGets)
            #expect(refused.status == 503)
            #expect(refused.problem == "too-many-answers")
            #expect(refused.headers["retry-after"] != nil)
            // 40 - 32 MiB: seven more values fit beside what the answers need themselves.
            clients += try (0..<7).map { _ in try Self.ask(site, "GET", "/v1/properties/v") }
            try Self.awaitHeld(site) { $0 > 39 * Self.mebibyte }
            let targets = [
                "/v1/properties/v", "/v1/properties?limit=10", "/v1/changes",
                "/v1/properties/v?after=0", "/v1/properties/v?revision=1",
            ]
            for target in targets {
                let answer = try site.ask("GET", target)
                #expect(answer.problem == "too-many-answers", "\(target)")
            }
            #expect(try site.ask("HEAD", "/v1/properties/v").status == 200)
            #expect(try site.ask("PUT", "/v1/properties/small", "1").status == 201)
            #expect(try site.ask("GET", "/v1/properties/small").text == "1")
            for target in ["/metrics", "/healthz", "/readyz", "/readyz?verbose"] {
                #expect(try site.ask("GET", target).status == 200, "\(target)")
            }
            #expect(try Self.held(site) <= 40 * Self.mebibyte)
            withExtendedLifetime(clients) {}
            clients = []
            try Self.awaitHeld(site) { $0 < Self.mebibyte }
            let answer = try site.ask("POST", "/v1/transactions", Self.sixteenGets)
            #expect(answer.status == 200)
            #expect(answer.body.count > 16 * Self.mebibyte)
            let object = try #require(answer.json as? [String: Any])
            let results = try #require(object["results"] as? [[String: Any]])
            #expect(results.count == 16)
            #expect(results.allSatisfy { ($0["value"] as? String)?.count == Self.mebibyte - 2 })
            try Self.awaitHeld(site) { $0 < 2000 }
        }
    }

    @Test func `a write whose answer would be long is refused before it is applied`() async throws {
        try await Program.serve(Self.flags) { site in
            var clients = try Self.useUp(site)
            // Writes that were applied are answered, even beyond the limit; the next is refused.
            let body = #"{"then":[{"increment":"n"},"# + Self.sixteenGets.dropFirst(9)
            clients.append(try Self.ask(site, "POST", "/v1/transactions", body))
            try Self.awaitHeld(site) { $0 > 40 * Self.mebibyte }
            for (method, target, body) in [
                ("POST", "/v1/transactions", #"{"then":[{"increment":"n"}]}"#),
                ("PATCH", "/v1/properties/n", "{}"),
            ] {
                let answer = try site.ask(
                    method,
                    target,
                    body,
                    headers: method == "PATCH"
                        ? ["Content-Type: application/merge-patch+json"] : []
                )
                #expect(answer.problem == "too-many-answers", "\(method)")
            }
            for target in ["/v1/watch", "/v1/export"] {
                #expect(try site.ask("GET", target).problem == "too-many-answers", "\(target)")
            }
            #expect(try site.ask("GET", "/v1/properties/n").text == "1")
            withExtendedLifetime(clients) {}
        }
    }

    /// Serves with values, and has clients ask for what they do not read.
    ///
    /// The body has the site and the memory in bytes that the service has more than before.
    private static func serve(
        _ flags: [String],
        _ body:
            @escaping @Sendable (Site, _ growth: (_ field: String) throws -> Int) throws
            -> [HTTPClient]
    ) async throws {
        let program = try Program(["serve", "--port", "0"] + flags)
        try await offPool {
            let site = Site(port: try program.awaitPort())
            try fill(site)
            let before = try residentBytes(program, "VmRSS:")
            let clients = try body(site) { try residentBytes(program, $0) - before }
            try site.isWell()
            withExtendedLifetime(clients) {}
            _ = program.end()
        }
    }

    @Test func `many clients that do not read cannot take the memory`() async throws {
        try await Self.serve(Self.flags) { site, growth in
            let clients = try (0..<40).map { _ in
                try Self.ask(site, "POST", "/v1/transactions", Self.sixteenGets)
            }
            try Self.awaitHeld(site) { $0 > 32 * Self.mebibyte }
            try site.isWell()
            let bytes = try growth("VmRSS:")
            #expect(bytes < 60 * Self.mebibyte, "\(bytes) bytes for 640 MiB of answers")
            return clients
        }
    }

    /// Each watch keeps the state that it began with, until the history has passed it.
    @Test func `watches that do not read the state that they asked for cannot take the memory`()
        async throws
    {
        let flags = [
            "--history-bytes", "16MiB", "--client-share", "1/1", "--max-body-bytes", "2MiB",
        ]
        try await Self.serve(flags) { site, growth in
            let clients = try (0..<12).map { _ in
                let client = try Self.ask(site, "GET", "/v1/watch?initial=true")
                try Self.fill(site)
                return client
            }
            let bytes = try growth("VmRSS:")
            #expect(bytes < 100 * Self.mebibyte, "\(bytes) bytes for 12 states of 17 MiB")
            return clients
        }
    }

    /// Each stream has an event of its own: the result of the operation.
    @Test(arguments: [
        ("/v1/operations/{id}/events", "/v1/operations/j/events"),
        ("/v1/watch", "/v1/watch?initial=true"),
    ])
    func `streams that no client reads take their address's share, and no more, issue 17`(
        route: String,
        target: String
    ) async throws {
        let flags = Self.flags.dropLast(2) + ["--client-share", "1/2", "--history-bytes", "16MiB"]
        try await Self.serve(flags + []) { site, growth in
            let gets = repeatElement(#"{"get":"v"}"#, count: 8).joined(separator: ",")
            let steps = #"{"id":"j","steps":[{"transaction":{"then":[\#(gets)]}}]}"#
            #expect(try site.ask("POST", "/v1/operations", steps).status == 202)
            try site.awaitMetric(#"latchkey_operations{state="finished"}"#, 1)
            let clients = try (0..<30).map { _ in try Self.ask(site, "GET", target) }
            try Self.awaitRequests(site, route, clients.count)
            try Self.awaitHeld(site) { $0 > 10 * Self.mebibyte }
            let other = try site.client(from: 2)
            #expect(try other.request("GET", "/v1/properties/v").body.count == Self.value.count)
            #expect(try Self.held(site) < 24 * Self.mebibyte)
            let bytes = try growth("VmRSS:")
            #expect(bytes < 60 * Self.mebibyte, "\(bytes) bytes for 30 streams")
            return clients
        }
    }

    /// An answer refers to the values, so it is small until its bytes are put together to be kept.
    @Test func `an answer that cannot be kept for its key is not copied`() async throws {
        let flags = [
            "--idempotency-bytes", "65536", "--client-share", "1/1", "--max-body-bytes", "16MiB",
        ]
        try await Self.serve(flags) { site, growth in
            let gets = repeatElement(#"{"get":"v"}"#, count: 120).joined(separator: ",")
            func ask() throws -> HTTPAnswer {
                let body = #"{"then":[\#(gets)]}"#
                let key = ["Idempotency-Key: k"]
                return try site.ask("POST", "/v1/transactions", body, headers: key)
            }
            let answer = try ask()
            #expect(answer.status == 200 && answer.body.count > 120 * Self.mebibyte)
            let peak = try growth("VmHWM:")
            #expect(peak < 60 * Self.mebibyte, "\(peak) bytes for an answer of 120 MiB")
            #expect(try ask().problem == "answer-not-kept")
            return []
        }
    }

    @Test func `one event is there once, however many clients do not read it`() async throws {
        let flags = [
            "--max-connections", "1000", "--client-share", "1/1", "--max-body-bytes", "2MiB",
        ]
        try await Self.serve(flags) { site, growth in
            let clients = try (0..<200).map { _ in try Self.ask(site, "GET", "/v1/watch") }
            try site.awaitMetric("latchkey_watchers", clients.count)
            let before = try growth("VmRSS:")
            let put = try site.client().request("PUT", "/v1/properties/v", body: Self.value)
            #expect(put.status == 204)
            try site.awaitMetric("latchkey_watch_events_total", clients.count)
            let bytes = try growth("VmRSS:") - before
            #expect(bytes < 40 * Self.mebibyte, "\(bytes) bytes for 200 watchers of 1 MiB")
            #expect(try Self.held(site) < 2 * Self.mebibyte)
            return clients
        }
    }

    @Test func `an address that does not read takes its share, and others are answered`()
        async throws
    {
        let flags = Self.flags.dropLast(2) + ["--client-share", "1/2"]
        try await Program.serve(Array(flags)) { site in
            try Self.fill(site)
            let greedy = try Self.ask(site, "POST", "/v1/transactions", Self.sixteenGets)
            try Self.awaitHeld(site) { $0 > 16 * Self.mebibyte }
            // Half of 40 MiB: three more values.
            let more = try (0..<3).map { _ in try Self.ask(site, "GET", "/v1/properties/v") }
            try Self.awaitHeld(site) { $0 > 19 * Self.mebibyte }
            #expect(try site.ask("GET", "/v1/properties/v").problem == "client-share-taken")
            let other = try site.client(from: 2)
            #expect(try other.request("GET", "/v1/properties/v").body.count == Self.value.count)
            withExtendedLifetime((greedy, more)) {}
        }
    }

    @Test func `repeated answers are counted, and refused beyond the bound`() async throws {
        try await Program.serve(Self.flags) { site in
            try Self.fill(site)
            let (body, key) = (Self.gets(6), "Idempotency-Key: one")
            #expect(try site.ask("POST", "/v1/transactions", body, headers: [key]).status == 200)
            let clients = try (0..<20).map { _ in
                try Self.ask(site, "POST", "/v1/transactions", body, field: key)
            }
            try Self.awaitHeld(site) { $0 > 36 * Self.mebibyte }
            let answer = try site.ask("POST", "/v1/transactions", body, headers: [key])
            #expect(answer.problem == "too-many-answers")
            #expect(try Self.held(site) <= 40 * Self.mebibyte)
            withExtendedLifetime(clients) {}
        }
    }

    @Test func `an answer refers to as many values as it has`() async throws {
        try await Program.serve { site in
            let value = "\"" + String(repeating: "v", count: 1100) + "\""
            let client = try site.client()
            let lines = (0..<1000).map { #"{"name":"\#($0)","value":\#(value)}"# + "\n" }
            let imported = try client.request(
                "POST",
                "/v1/import?partial=true",
                headers: ["Content-Type: application/x-ndjson"],
                body: Array(lines.joined().utf8)
            )
            #expect(imported.status == 200)
            let cookies = (0..<20).map { "Cookie: c\($0)=\(String(repeating: "x", count: 50))" }
            for target in ["/v1/properties?limit=1000", "/v1/changes?limit=1000"] {
                let page = try site.ask("GET", target, headers: cookies)
                #expect(page.status == 200)
                #expect(page.text.components(separatedBy: value).count == 1001, "\(target)")
            }
            try site.isWell()
        }
    }

    private static func residentBytes(_ program: Program, _ field: String) throws -> Int {
        let status = try String(
            contentsOfFile: "/proc/\(program.processIdentifier)/status",
            encoding: .utf8
        )
        let line = status.split(separator: "\n").first { $0.hasPrefix(field) }
        let kibibytes = line?.split(separator: " ").compactMap { Int($0) }.first
        return try #require(kibibytes) * 1024
    }

    @Test func `memory that was freed goes back to the system`() async throws {
        let (valueByteCount, count) = (4000, 25_600)
        let flags = ["--history-bytes", "1", "--max-body-bytes", "4MiB"]
        try await Self.serve(flags) { site, growth in
            let client = try site.client()
            func post(_ target: String, _ type: String, _ body: String) throws {
                let headers = ["Content-Type: application/\(type)"]
                let bytes = Array(body.utf8)
                let answer = try client.request("POST", target, headers: headers, body: bytes)
                #expect(answer.status == 200)
            }
            let value = "\"" + String(repeating: "x", count: valueByteCount) + "\""
            for first in stride(from: 0, to: count, by: 512) {
                let lines = (first..<first + 512).map { #"{"name":"\#($0)","value":\#(value)}"# }
                let body = lines.joined(separator: "\n") + "\n"
                try post("/v1/import?partial=true", "x-ndjson", body)
            }
            let full = try growth("VmRSS:")
            #expect(full > count * valueByteCount)
            for first in stride(from: 0, to: count, by: 128) {
                let steps = (first..<first + 128).map { #"{"delete":"\#($0)"}"# }
                try post(
                    "/v1/transactions",
                    "json",
                    #"{"then":[\#(steps.joined(separator: ","))]}"#
                )
            }
            try eventually("half of the memory is given back") {
                try growth("VmRSS:") <= full / 2
            }
            return []
        }
    }
}
