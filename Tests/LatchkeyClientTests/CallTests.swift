import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient

/// How a call reacts to the answers to its attempts (`clients/behaviour.md`).
struct CallTests {
    typealias Step = ScriptedService.Step

    private static let written = Step.answers(204, tag: "7")
    private static let page = Step.answers(200, "text/html", "<html>")

    static var put: ClientRequest {
        var request = ClientRequest(.put, property: "a")
        request.makeRepeatable()
        return request
    }

    /// Makes a call, and returns the failure if it fails.
    @discardableResult
    private static func call(
        _ service: ScriptedService,
        _ request: ClientRequest = put,
        patience: Double = 10
    ) -> ClientFailure? {
        do throws(ClientFailure) {
            _ = try Client(service, patience: .seconds(patience)).send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        Step.fails(.unconnected), .fails(.broken), .silent, .problem(503, "draining"),
        .problem(429, "rate-exceeded"), .problem(500, "outcome-unknown"), .answers(425),
        .answers(429), .answers(408), .answers(500), .answers(502), .answers(503), .answers(504),
        .answers(502, "application/json", #"{"type":"/problems/draining"}"#),
    ])
    func `a call is repeated with the same key after a temporary failure`(step: Step) {
        let service = ScriptedService([step, step, Self.written], timeLimit: .seconds(1))
        #expect(Self.call(service) == nil)
        #expect(service.requests.count == 3)
        #expect(Set(service.keys).count == 1)
        #expect(service.keys[0] != nil)
    }

    @Test(arguments: [
        (Step.fails(.unconnected), ClientStatus.failed), (.fails(.broken), .unknown),
        (.silent, .unknown), (.problem(503, "draining"), .refused),
        (.problem(429, "rate-exceeded"), .refused), (.problem(500, "outcome-unknown"), .unknown),
        (.answers(429), .failed), (.answers(425), .failed), (.answers(408), .unknown),
        (.answers(504), .unknown),
    ])
    func `a call ends within its patience, and says what is known`(
        step: Step,
        status: ClientStatus
    ) {
        let service = ScriptedService([step], timeLimit: .seconds(3))
        let failure = Self.call(service)
        #expect(failure?.status == status)
        #expect(service.elapsed <= 10)
        #expect(service.requests.count > 2)
        let message = failure?.message ?? ""
        #expect(message.contains("may have been made") == (status == .unknown), "\(message)")
        #expect(message.contains("Nothing was changed") == (status == .failed), "\(message)")
    }

    @Test func `a read that is in doubt changes nothing, and does not say so`() {
        let service = ScriptedService([.fails(.broken)])
        let failure = Self.call(service, ClientRequest(.get, property: "a"))
        #expect(failure?.status == .failed)
        #expect(failure?.message == "http://a: a reason.")
    }

    @Test(arguments: [
        page, Step.answers(302, fields: "Location: https://sign.in/\r\n"), .answers(404),
        .answers(200, "application/json", tag: "7", "1"), .answers(204),
        .answers(204, tag: "text"), .answers(401, "text/html", "<html>"), .fails(.wrong),
        .fails(.unusable), .answers(404, "application/json", #"{"type":"/problems/not-found"}"#),
        .answers(404, "application/problem+json", #"{"type":"about:blank"}"#),
    ])
    func `an answer that is not the service's ends the call at once`(step: Step) {
        let service = ScriptedService([step])
        #expect(Self.call(service)?.status == .failed)
        #expect(service.requests.count == 1 && service.elapsed == 0)
    }

    @Test(arguments: [
        (page, ClientStatus.unknown), (Step.fails(.wrong), .unknown),
        (.fails(.unconnected), .unknown), (.problem(503, "draining"), .unknown),
        (.answers(429), .unknown), (.problem(412, "precondition-failed"), .unmet),
        (.problem(403, "forbidden"), .unknown), (.problem(507, "disk-full"), .refused),
    ])
    func `a write in doubt stays so, unless the service says more`(
        step: Step,
        status: ClientStatus
    ) {
        let service = ScriptedService([.fails(.broken), step])
        let failure = Self.call(service)
        #expect(failure?.status == status)
        #expect(failure?.message.contains("Nothing was changed") == false)
    }

    @Test func `a redirect is named, and not followed`() {
        let step = Step.answers(302, fields: "Location: https://sign.in/\r\n")
        let service = ScriptedService([step])
        let message = Self.call(service)?.message ?? ""
        #expect(message.contains("status 302") && message.contains("https://sign.in/"))
        #expect(service.lineage == ["PUT /v1/properties/a"])
    }

    @Test(arguments: [
        (ClientRequest(.get, property: "a"), Step.answers(200, "application/json", tag: "7", "1")),
        (ClientRequest(.get, property: "a"), .answers(200, "Application/JSON; x", tag: "7", "1")),
        (ClientRequest(.put, property: "a"), .answers(201, tag: "7")),
        (ClientRequest(.delete, property: "a"), .answers(204)),
        (ClientRequest(.post, property: "a", "touch"), .answers(204, tag: "7")),
        (
            ClientRequest(.post, property: "a", "increment"),
            .answers(200, "application/json", tag: "7", "1")
        ),
        (ClientRequest(.get, "/v1/count"), .answers(200, "application/json", #"{"count":1}"#)),
        (ClientRequest(.get, "/metrics"), .answers(200, "text/plain; version=0.0.4")),
    ])
    func `an answer is the service's if it is as promised`(request: ClientRequest, step: Step) {
        #expect(Self.call(ScriptedService([step]), request) == nil)
        #expect(Self.call(ScriptedService([Self.page]), request)?.status == .failed)
    }

    @Test(arguments: [
        (ClientRequest(.get, property: "a"), Step.answers(200, "application/json", "1")),
        (ClientRequest(.get, property: "a"), .answers(200, "application/json", tag: "7", "{")),
        (ClientRequest(.get, property: "a"), .answers(204, tag: "7")),
        (ClientRequest(.delete, property: "a"), .answers(200)),
        (ClientRequest(.delete, property: "a"), .answers(204, "text/html")),
        (ClientRequest(.post, property: "a", "touch"), .answers(204)),
        (ClientRequest(.get, "/v1/count"), .answers(200, "application/jsonp", #"{"count":1}"#)),
    ])
    func `an incomplete answer is not the service's`(request: ClientRequest, step: Step) {
        #expect(Self.call(ScriptedService([step]), request)?.status == .failed)
    }

    @Test func `Retry-After is kept, and ends a call whose time it exceeds`() {
        let passing = Step.problem(503, "draining", fields: "Retry-After: 3\r\n")
        let service = ScriptedService([
            passing, .answers(429, fields: "Retry-After: 4\r\n"),
            Self.written,
        ])
        #expect(Self.call(service) == nil)
        #expect(service.elapsed == 7)
        let late = ScriptedService([passing])
        #expect(Self.call(late, patience: 2)?.status == .refused)
        #expect(late.elapsed == 0)
    }

    @Test func `a service without room for keys gets the write without one`() {
        for name in ["too-many-idempotency-keys", "client-share-taken"] {
            let full = Step.problem(503, name)
            let service = ScriptedService([full, Self.written])
            #expect(Self.call(service) == nil)
            #expect(service.keys[0] != nil && service.keys[1] == nil)
            #expect(service.requests[1].fields.allSatisfy { !$0.contains("Idempotency") })
            // Another process can use the share of this client: the call asks again, with pauses.
            let taken = ScriptedService([full])
            #expect(Self.call(taken)?.status == .refused)
            #expect(taken.requests.count < 20)
            // Then it is in doubt for good.
            let cut = ScriptedService([full, .fails(.broken), Self.written])
            #expect(Self.call(cut)?.status == .unknown)
            // A write that may have been made is not sent without its key, nor is one with a key of
            // the user.
            let doubt = ScriptedService([.fails(.broken), full])
            #expect(Self.call(doubt)?.status == .unknown)
            #expect(!doubt.keys.contains(nil))
            var own = ClientRequest(.put, property: "a")
            own.makeRepeatable("mine")
            let mine = ScriptedService([full])
            #expect(Self.call(mine, own)?.status == .refused)
            #expect(Set(mine.keys) == ["mine"])
        }
    }

    @Test func `a write without a key is not repeated, and a touch is`() {
        let promote = ClientRequest(.post, "/v1/promote")
        let service = ScriptedService([.fails(.unconnected), .fails(.broken)])
        #expect(Self.call(service, promote)?.status == .unknown)
        #expect(service.requests.count == 2)
        let touch = ScriptedService([.fails(.broken), .silent, Self.written])
        #expect(Self.call(touch, ClientRequest(.post, property: "a", "touch"), patience: 30) == nil)
        #expect(touch.keys == [nil, nil, nil])
    }

    @Test func `each attempt of a call that waits asks for what is left`() {
        var pop = ClientRequest(.post, "/v1/pop")
        pop.makeRepeatable()
        pop.wait = .seconds(20)
        let cut = Step.fails(.broken, after: 6)
        let answer = Step.answers(200, "application/json", #"{"result":{}}"#, after: 1)
        let service = ScriptedService([cut, cut, answer], timeLimit: .seconds(10))
        #expect(Self.call(service, pop) == nil)
        #expect(
            service.lineage == [
                "POST /v1/pop?wait=20", "POST /v1/pop?wait=13.900", "POST /v1/pop?wait=7.700",
            ]
        )
        let silent = ScriptedService([.silent], timeLimit: .seconds(10))
        #expect(Self.call(silent, pop)?.status == .unknown)
        #expect((20...22).contains(silent.elapsed))
    }

    @Test func `an attempt has no more time than its call`() {
        let service = ScriptedService([.silent], timeLimit: .seconds(4))
        #expect(Self.call(service)?.status == .unknown)
        #expect(service.elapsed <= 10)
        #expect(service.requests.map(\.timeLimit).first == .seconds(4))
        let short = ScriptedService([.silent], timeLimit: .seconds(4))
        Self.call(short, patience: 0)
        #expect(short.requests.count == 1)
    }

    @Test func `the leader is named, and no token is sent there`() {
        let body = #"{"type":"/problems/not-leader","title":"No.","leader":"http://b:1"}"#
        let service = ScriptedService([.answers(421, "application/problem+json", body)])
        #expect(Self.call(service)?.message == "No. The leader is http://b:1.")
        #expect(service.requests.count == 1)
    }

    @Test func `a line that is not right is named`() {
        let body = #"{"type":"/problems/invalid-line","title":"No.","line":7,"imported":5}"#
        let service = ScriptedService([.answers(400, "application/problem+json", body)])
        let message = Self.call(service, ClientRequest(.post, "/v1/import"))?.message
        #expect(message == "No. That is line 7; 5 properties were imported.")
    }
}
