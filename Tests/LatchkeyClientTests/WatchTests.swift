import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient

/// How a watch goes on, by a script of answers.
struct WatchTests {
    typealias Step = ScriptedService.Step

    private static let revision = Step.answers(
        200,
        "application/json",
        #"{"revision":5,"properties":[]}"#
    )
    private static let page = Step.answers(200, "text/html", "<html>")

    private static func stream(_ ids: [Int], _ more: String = "") -> Step {
        let events = ids.map { id in
            "event: put\ndata: {\"name\":\"a\",\"value\":\(id)}\nid: \(id)\n\n"
        }
        return .answers(200, "text/event-stream", more + events.joined())
    }

    /// Runs a watch until it has given this many events, or ends.
    private static func run(
        _ service: ScriptedService,
        _ count: Int,
        isInitial: Bool = false
    ) -> (events: [StreamEvent], complaints: Int, failure: ClientFailure?) {
        var (events, complaints): ([StreamEvent], Int) = ([], 0)
        let watch = Watch(
            Client(service),
            ClientRequest(.get, "/v1/watch"),
            after: nil,
            isInitial: isInitial,
            complain: { _ in complaints += 1 }
        )
        do throws(ClientFailure) {
            try watch.run { event throws(ClientFailure) in
                events.append(event)
                return events.count < count
            }
            return (events, complaints, nil)
        } catch {
            return (events, complaints, error)
        }
    }

    @Test func `a temporary failure does not end a watch, and nothing comes twice`() {
        let passing = [
            Step.fails(.broken), .fails(.unconnected), .silent, .answers(502), .answers(429),
            .problem(503, "draining"), .fails(.wrong),
        ]
        let service = ScriptedService(
            [.answers(502), Self.revision, Self.stream([6])] + passing + [Self.stream([7])]
        )
        let found = Self.run(service, 2)
        #expect(found.events.map(\.id) == ["6", "7"])
        #expect(found.failure == nil)
        #expect(found.complaints == 2, "once until it is answered")
        #expect(service.lineage[2] == "GET /v1/watch?after=5")
        let later = service.requests[3...]
        #expect(later.allSatisfy { $0.fields == ["Last-Event-ID: 6"] })
    }

    @Test(arguments: [
        page, Step.answers(302), .problem(400, "too-many-prefixes"), .problem(410, "gone"),
        .fails(.wrong), .answers(200, "application/json", "{}"),
    ])
    func `another error ends a watch at once`(step: Step) {
        let service = ScriptedService([step])
        let found = Self.run(service, 1, isInitial: true)
        #expect(found.failure != nil && found.events.isEmpty)
        #expect(service.requests.count == 1 && service.elapsed == 0)
    }

    @Test func `events of later services are passed over`() {
        let more = "event: rename\ndata: {}\n\ndata: 1\n\nevent: close\ndata: {}\n\n"
        let service = ScriptedService([Self.revision, Self.stream([6], more)])
        #expect(Self.run(service, 1).events.map(\.type) == ["put"])
    }

    @Test(arguments: [
        "put\ndata: text", "put\ndata: [1]", "put\ndata: {\"name\":\"a\"}",
        "put\ndata: {\"name\":1,\"value\":1}", "put\ndata: {\"name\":\"a\",\"value\":NaN}",
        "delete\ndata: {}", "gap\ndata: {}", "ready\ndata: 1",
    ])
    func `an event that cannot be read ends a watch`(event: String) {
        let step = Step.answers(200, "text/event-stream", "event: \(event)\n\n")
        let found = Self.run(ScriptedService([step]), 1, isInitial: true)
        #expect(found.events.isEmpty && found.failure?.status == .failed)
    }

    @Test func `the service says when to connect again`() {
        let service = ScriptedService([
            Self.revision, Self.stream([6], "retry: 3000\n\n"), Self.stream([7]),
        ])
        _ = Self.run(service, 2)
        #expect(service.elapsed == 3)
        let busy = Step.problem(503, "draining", fields: "Retry-After: 7\r\n")
        let stopping = ScriptedService([Self.revision, busy, Self.stream([6])])
        _ = Self.run(stopping, 1)
        #expect(stopping.elapsed == 7)
    }

    @Test func `a stream without events does not make the pause shorter`() {
        let empty = Array(repeating: Self.stream([]), count: 4)
        let service = ScriptedService([Self.revision] + empty + [Self.stream([6])])
        _ = Self.run(service, 1)
        #expect(abs(service.elapsed - (0.1 + 0.2 + 0.4 + 0.8)) < 1e-6)
        #expect(service.requests.last?.headLimit == .seconds(10))
    }

    @Test func `the pause becomes longer, up to five seconds`() {
        let cuts = Array(repeating: Step.fails(.unconnected), count: 9)
        let service = ScriptedService(cuts + [Self.revision, Self.stream([6])])
        _ = Self.run(service, 1)
        let pauses = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5, 5, 5]
        #expect(abs(service.elapsed - pauses.reduce(0, +)) < 1e-6)
    }

    /// The watch has given a part of it, and no id from which the stream could go on.
    @Test func `a current state that starts again is announced by a gap`() {
        let part = Step.answers(
            200,
            "text/event-stream",
            "event: put\ndata: {\"name\":\"a\",\"value\":1}\n\n"
        )
        let service = ScriptedService([part, Self.stream([6])])
        let found = Self.run(service, 3, isInitial: true)
        #expect(found.events.map(\.type) == ["put", "gap", "put"])
        #expect(service.lineage == Array(repeating: "GET /v1/watch?initial=true", count: 2))
    }
}
