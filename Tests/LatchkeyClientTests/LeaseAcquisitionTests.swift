import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient

/// How a lease is acquired, with a manual clock.
struct LeaseAcquisitionTests {
    typealias Step = ScriptedService.Step

    private static let second: UInt64 = 1_000_000_000
    private static let touched = Step.answers(204, tag: "7")
    private static let removed = Step.answers(204)
    private static let cut = Step.fails(.broken)

    private static func granted(after seconds: Double = 0) -> Step {
        let body = #"{"succeeded":true,"revision":7,"results":[{"name":"l","revision":7}]}"#
        return .answers(200, "application/json", body, after: seconds)
    }

    private static func taken(after seconds: Double = 0) -> Step {
        let body = #"{"succeeded":false,"revision":7,"results":[]}"#
        return .answers(200, "application/json", body, after: seconds)
    }

    private static func acquire(
        _ service: ScriptedService,
        within wait: Double?,
        isPatient: Bool = false,
        isAskedToEnd: @escaping () -> Bool = { false }
    ) throws -> Lease? {
        let client = Client(service)
        let lease = LeaseClient(client, name: "l", timeToLive: .seconds(6), holder: "me")
        return try LeaseAcquisition(
            lease,
            isPatient: isPatient,
            complain: { _ in },
            isAskedToEnd: isAskedToEnd,
            isHurried: { false }
        ).run(within: wait.map { UInt64($0 * 1e9) })
    }

    @Test func `a grant that did not wait counts from its request`() throws {
        let service = ScriptedService([Self.granted(after: 0.2)])
        let start = service.now
        let lease = try #require(try Self.acquire(service, within: 10))
        #expect(lease.times.start == start)
        #expect(service.requests.count == 1)
    }

    @Test func `a grant that waited is renewed at once, and counts from then`() throws {
        let service = ScriptedService([Self.granted(after: 9), Self.touched])
        let start = service.now
        let lease = try #require(try Self.acquire(service, within: 20))
        #expect(lease.times.start == start + 9 * Self.second)
        #expect(service.lineage.last == "POST /v1/properties/l/touch?ttl=6")
        #expect(service.requests.last?.fields.contains(#"If-Match: "7""#) == true)
    }

    @Test(arguments: [
        Step.problem(412, "precondition-failed"), .problem(404, "not-found"), cut, .silent,
        .answers(200, "text/html", "<html>"), .answers(302), .answers(204, tag: "8"),
    ])
    func `a grant whose renewal fails is given back, and the call goes on`(step: Step) throws {
        let refused = ScriptedService(
            [Self.granted(after: 9)] + Array(repeating: step, count: 20) + [Self.removed],
            timeLimit: .milliseconds(100)
        )
        // A third of the time to live has room for fewer attempts than these steps.
        _ = try? Self.acquire(refused, within: 9.5)
        let first = refused.lineage.firstIndex { $0.hasPrefix("DELETE") } ?? 0
        #expect(first > 1)
        #expect(refused.requests[first].fields.contains(#"If-Match: "7""#))
        #expect(refused.elapsed <= 11.5)
        let next = ScriptedService([
            Self.granted(after: 9), .problem(412, "precondition-failed"), Self.removed,
            Self.granted(),
        ])
        #expect(try Self.acquire(next, within: 20) != nil)
        #expect(Set(next.keys.compactMap { $0 }).count == 3, "each try has a key of its own")
    }

    @Test(arguments: [Step.silent, cut, .fails(.unconnected), .answers(502)])
    func `a wait ends in its time, also if the service does not answer`(step: Step) {
        let service = ScriptedService([step])
        #expect(throws: ClientFailure.self) { try Self.acquire(service, within: 1) }
        #expect(service.elapsed <= 3)
    }

    @Test func `without a wait, a silent service is given up after the patience`() {
        let service = ScriptedService([Self.cut])
        #expect(throws: ClientFailure.self) { try Self.acquire(service, within: nil) }
        #expect((9...21).contains(service.elapsed))
    }

    @Test func `a lock that is not free in time is not acquired`() throws {
        let service = ScriptedService([Self.taken(after: 5), Self.taken()])
        #expect(try Self.acquire(service, within: 5) == nil)
        #expect(service.lineage == ["POST /v1/transactions?wait=5"])
    }

    @Test func `a try in doubt is sent again with its key, for what is left`() throws {
        let service = ScriptedService([.fails(.broken, after: 2), Self.granted()])
        #expect(try Self.acquire(service, within: 10) != nil)
        #expect(
            service.lineage.prefix(2) == [
                "POST /v1/transactions?wait=10", "POST /v1/transactions?wait=7.500",
            ]
        )
        #expect(service.keys[0] == service.keys[1])
    }

    /// The client asks once more without waiting: then the service has decided about its key.
    @Test func `a lease that a try may have got is given back`() throws {
        for (step, count) in [(Self.granted(), 3), (Self.taken(), 2)] {
            let service = ScriptedService([.fails(.cancelled), step, Self.removed])
            #expect(try Self.acquire(service, within: nil) == nil)
            #expect(service.requests.count == count)
            #expect(service.lineage[1] == "POST /v1/transactions?wait=0")
            #expect(service.keys[0] == service.keys[1])
            if count == 3 { #expect(service.lineage[2] == "DELETE /v1/properties/l") }
        }
    }

    @Test func `a service without room for keys grants without one`() throws {
        let full = Step.problem(503, "too-many-idempotency-keys")
        let service = ScriptedService([full, Self.granted()])
        #expect(try Self.acquire(service, within: 10) != nil)
        #expect(service.keys[0] != nil && service.keys[1] == nil && service.elapsed == 0)
    }

    @Test func `a service that is busy is asked when it says`() throws {
        let busy = Step.problem(503, "draining", fields: "Retry-After: 3\r\n")
        let passing = Step.answers(429, fields: "Retry-After: 4\r\n")
        let service = ScriptedService([busy, passing, Self.granted(), Self.touched])
        #expect(try Self.acquire(service, within: 10) != nil)
        #expect(service.elapsed == 7)
        let late = ScriptedService([busy])
        #expect(throws: ClientFailure.self) { try Self.acquire(late, within: 1) }
        #expect(late.requests.count == 1)
    }

    @Test(arguments: [
        Step.fails(.unconnected), .problem(503, "draining"), .answers(429),
    ])
    func `a lease that was not made is not given back`(step: Step) throws {
        let service = ScriptedService([step])
        #expect(throws: ClientFailure.self) { try Self.acquire(service, within: nil) }
        #expect(service.elapsed <= 10)
        #expect(!service.lineage.contains("POST /v1/transactions?wait=0"))
        let ended = ScriptedService([step])
        let none = try Self.acquire(ended, within: nil) { !ended.requests.isEmpty }
        #expect(none == nil && ended.requests.count == 1)
    }

    /// A client that holds a lease since now.
    private static func holding(_ service: ScriptedService) -> (LeaseClient, Lease) {
        let client = LeaseClient(
            Client(service),
            name: "l",
            timeToLive: .seconds(6),
            holder: "me"
        )
        return (client, Lease(revision: 7, times: client.times(from: service.now)))
    }

    @Test func `a page in the place of the service is no grant and no renewal`() throws {
        let page = Step.answers(200, "text/html", "<html>")
        #expect(throws: ClientFailure.self) {
            try Self.acquire(ScriptedService([page]), within: 10)
        }
        let (client, lease) = Self.holding(ScriptedService([page]))
        #expect(client.renew(lease) { false } == .unanswered)
        #expect(client.release(lease) != nil)
    }

    @Test func `a release is repeated until it is answered`() {
        let service = ScriptedService([Self.cut, .answers(503), Self.removed])
        let (client, lease) = Self.holding(service)
        #expect(client.release(lease) == nil)
        #expect(service.requests.count == 3 && Set(service.keys).count == 1)
        let full = ScriptedService([.problem(503, "client-share-taken"), Self.removed])
        let (other, held) = Self.holding(full)
        #expect(other.release(held) == nil)
        #expect(full.keys[0] != nil && full.keys[1] == nil)
    }
}
