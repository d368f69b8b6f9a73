import Foundation
import LatchkeyHTTP
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// Requests that are repeated with their `Idempotency-Key`, over real connections.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct RepetitionTests {
    static let kinds = [StrategyKind.lock, .barrierQueueAsync]

    /// 0.1 stored the whole answer; each answer has its own caching rule.
    @Test func `a repeat of a request of 0.1 gets the answer of its note`() throws {
        let server = try RepeatableServer()
        server.holdNothingBack()
        let print = RequestFingerprint(
            method: Bytes("PUT"),
            path: Bytes("/v1/properties/a"),
            query: Bytes(""),
            body: Bytes("1")
        )
        let note = try EarlierNote(fingerprint: print).bytes
        server.repetition?.restore(note, at: Timestamp(milliseconds: 0))
        #expect(server.metric("latchkey_idempotency_keys") == "1")
        let answer = try server.ask("PUT", "/v1/properties/a", key: "key", "1")
        #expect(answer.status == 201 && answer.headers["etag"] == "\"7\"")
        #expect(answer.headers["cache-control"] == "no-store")
        #expect(answer.headers["idempotency-replayed"] == "true")
        let other = try server.ask("PUT", "/v1/properties/a", key: "key", "2")
        #expect(other.problem == "idempotency-key-reused")
        #expect(server.commits.value == 0)
    }

    /// The server answers `outcome-unknown` by itself while the commit is held back.
    ///
    ///     client       store
    ///     ------       -----
    ///     increment    commits 1, not released
    ///     500, again
    ///     500          releases 1
    ///     again, 1
    @Test(arguments: kinds)
    func `a repeat after outcome-unknown gets the real answer, and the change is made once`(
        kind: StrategyKind
    ) throws {
        let server = try RepeatableServer(kind, hasStandingClock: true)
        let counter = "/v1/properties/a/increment"
        for round in 1...2 {
            let unanswered = server.askAside("POST", counter, key: "k")
            #expect(server.commits.wait(for: 1))
            #expect(server.awaitSuspended(1) && server.passUntilTimedOut(round))
            #expect(try unanswered.get()?.problem == "outcome-unknown")
        }
        server.hook.release(through: 1)
        let answer = try server.ask("POST", counter, key: "k")
        #expect(answer.status == 200 && answer.text == "1")
        #expect(answer.headers["etag"] == "\"1\"")
        #expect(answer.headers["idempotency-replayed"] == "true")
        #expect(server.commits.value == 1)
    }

    @Test(arguments: kinds)
    func `a repeat waits for the first answer`(kind: StrategyKind) throws {
        let server = try RepeatableServer(kind)
        let counter = "/v1/properties/a/increment"
        let first = server.askAside("POST", counter, key: "k")
        #expect(server.commits.wait(for: 1))
        let second = server.askAside("POST", counter, key: "k")
        #expect(server.awaitSuspended(2))
        server.hook.release(through: 1)
        let answers = try [first.get(), second.get()]
        #expect(answers.map { $0?.text } == ["1", "1"])
        #expect(answers.map { $0?.headers["idempotency-replayed"] } == [nil, "true"])
        #expect(server.commits.value == 1)
        #expect(server.metric("latchkey_idempotency_keys") == "1")
        #expect(server.metric("latchkey_idempotency_replays_total") == "1")
    }

    @Test(arguments: kinds)
    func `the answer to a client that has gone is kept for its repeat`(
        kind: StrategyKind
    ) throws {
        let server = try RepeatableServer(kind)
        let connection = try LoopbackConnection(port: server.server.port)
        let request =
            "POST /v1/properties/a/increment HTTP/1.1\r\nHost: localhost\r\n"
            + "Idempotency-Key: k\r\n\r\n"
        #expect(connection.send(request.utf8))
        #expect(server.commits.wait(for: 1))
        connection.reset()
        server.hook.release(through: 1)
        let answer = try server.ask("POST", "/v1/properties/a/increment", key: "k")
        #expect(answer.text == "1")
        #expect(answer.headers["idempotency-replayed"] == "true")
        #expect(server.commits.value == 1)
    }

    @Test(arguments: kinds)
    func `every answer comes again as it was`(kind: StrategyKind) throws {
        let server = try RepeatableServer(kind)
        server.holdNothingBack()
        let name = "/v1/properties/a"
        let requests: [(String, String, String?, Int)] = [
            ("PUT", name, "[1]", 201), ("PUT", name, "\"x\"", 204),
            ("POST", "\(name)/increment", nil, 409), ("PUT", name, "{", 400),
            ("POST", "/v1/properties/n/increment", "{\"by\":7}", 200),
            ("DELETE", name, nil, 204), ("DELETE", name, nil, 404),
            ("PUT", "\(name)?x=1", "1", 400),
        ]
        for (number, (method, target, body, status)) in requests.enumerated() {
            let key = "key-\(number)"
            let first = try server.ask(method, target, key: key, body)
            let second = try server.ask(method, target, key: key, body)
            #expect(first.status == status, "\(method) \(target)")
            #expect(first.headers["idempotency-replayed"] == nil)
            var fields = second.headers
            let replayed = fields.removeValue(forKey: "idempotency-replayed")
            #expect(replayed == (status == 400 ? nil : "true"), "nothing was decided")
            fields["date"] = first.headers["date"]
            fields["server-timing"] = first.headers["server-timing"]
            // A repeat is a request of its own.
            let identifiers = [first, second].map { $0.headers["latchkey-request-id"] ?? "none" }
            #expect(identifiers[0] != identifiers[1])
            fields["latchkey-request-id"] = identifiers[0]
            #expect(fields == first.headers)
            let text = second.text.replacing(identifiers[1], with: identifiers[0])
            #expect(second.status == first.status && text == first.text)
        }
        #expect(server.commits.value == 4)
    }

    @Test func `the key of another request is refused`() throws {
        let server = try RepeatableServer()
        server.holdNothingBack()
        let name = "/v1/properties/a"
        #expect(try server.ask("PUT", name, key: "k", "1").status == 201)
        for (method, target, body) in [
            ("PUT", name, "2"), ("PUT", "\(name)b", "1"), ("PUT", "\(name)?", "11"),
            ("DELETE", name, "1"), ("POST", "\(name)/increment", "{\"by\":1}"),
        ] {
            let answer = try server.ask(method, target, key: "k", body)
            #expect(answer.status == 422)
            #expect(answer.problem == "idempotency-key-reused")
        }
        #expect(server.commits.value == 1)
        #expect(try server.ask("PUT", name, key: "K", "2").status == 204, "case counts")
        #expect(try server.ask("GET", name, key: "k").text == "2", "a read needs no key")
    }

    @Test func `a key is one field of 1 to 255 visible ASCII characters`() throws {
        let server = try RepeatableServer()
        server.holdNothingBack()
        let client = try HTTPClient(port: server.server.port)
        let long = String(repeating: "k", count: 255)
        func problem(_ fields: [String]) throws -> String? {
            let fields = fields.map { "Idempotency-Key: \($0)" }
            return try client.request("PUT", "/v1/properties/a", headers: fields, body: [0x31])
                .problem
        }
        for key in ["k", long, "!~", "\"8e03978e-40d5\""] {
            #expect(try problem([key]) == nil)
        }
        for keys in [[""], [long + "k"], ["a b"], ["ä"], ["a\tb"], ["k", "k"]] {
            #expect(try problem(keys) == "invalid-idempotency-key")
        }
        #expect(server.commits.value == 4)
    }

    @Test(arguments: [400, 429, 500, 501, 503, 507])
    func `an answer that is no decision is not kept, and its request runs again`(status: Int) throws
    {
        let server = try RepeatableServer()
        server.answer([status, status])
        for _ in 1...2 {
            let answer = try server.ask("POST", "/scripted", key: "k")
            #expect(answer.status == status && answer.headers["idempotency-replayed"] == nil)
        }
        #expect(server.runs.value == 2)
        #expect(server.metric("latchkey_idempotency_keys") == "0")
        server.holdNothingBack()
        #expect(try server.ask("PUT", "/v1/properties/a", key: "k", "1").status == 201)
    }

    @Test func `waiting requests run one after the other`() throws {
        let count = 100
        let server = try RepeatableServer()
        let asked = (0..<count).map { _ in server.askAside("POST", "/scripted", key: "k") }
        #expect(server.awaitSuspended(count))
        for number in 1...count {
            #expect(server.runs.wait(for: number) && server.runs.value == number)
            server.answer([number < count ? 503 : 200])
        }
        let answers = try asked.compactMap { try $0.get() }
        #expect(answers.count { $0.status == 503 } == count - 1)
        #expect(answers.count { $0.text == "done" } == count)
        #expect(answers.allSatisfy { $0.headers["idempotency-replayed"] == nil })
    }

    @Test(arguments: [true, false])
    func `a request that waits for a key gives its place back when its client has gone`(
        isReset: Bool
    ) throws {
        var limits = IdempotencyLimits()
        limits.keyCountMax = 2
        let server = try RepeatableServer(limits: limits)
        let first = server.askAside("POST", "/scripted", key: "k")
        #expect(server.runs.wait(for: 1))
        for _ in 0..<3 {
            let waiting = try LoopbackConnection(port: server.server.port)
            let request =
                "POST /scripted HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k\r\n\r\n"
            #expect(waiting.send(request.utf8))
            #expect(server.awaitSuspended(2))
            #expect(
                try server.ask("POST", "/scripted", key: "k").problem
                    == "too-many-idempotency-keys"
            )
            isReset ? waiting.reset() : waiting.close()
            #expect(server.awaitSuspended(1))
            #expect(server.awaitMetric("latchkey_idempotency_bytes", "1345"))
        }
        let second = server.askAside("POST", "/scripted", key: "k")
        #expect(server.awaitSuspended(2))
        server.answer([200, 200])
        #expect(try first.get()?.text == "done")
        #expect(try second.get()?.text == "done")
        #expect(server.runs.value == 2)
    }

    /// The first request is answered when the waiting one is taken away, a little earlier or later.
    @Test func `a request is taken away amid the answer that it waits for`() throws {
        let server = try RepeatableServer(hasStandingClock: true)
        for round in 0..<20 {
            let (key, counter) = ("k\(round)", "/v1/properties/\(round)/increment")
            let first = server.askAside("POST", counter, key: key)
            #expect(server.commits.wait(for: round + 1))
            let second = server.askAside("POST", counter, key: key)
            #expect(server.awaitSuspended(2))
            // It is taken away about here, and the answer comes now or a little later.
            for step in 0..<125 * round {
                if step.isMultiple(of: round) { server.server.pass(.seconds(1)) }
                Yield.now()
            }
            server.hook.release(through: Revision(round + 1))
            for answer in try [first.get(), second.get()] {
                #expect(answer?.text == "1" || answer?.problem == "outcome-unknown")
            }
            let repeated = try server.ask("POST", counter, key: key)
            #expect(repeated.text == "1" && repeated.headers["idempotency-replayed"] == "true")
        }
        #expect(server.commits.value == 20)
    }

    @Test func `at the bound a new key is refused until an old one expires`() throws {
        var limits = IdempotencyLimits()
        limits.keyCountMax = 2
        limits.time = .seconds(10)
        let server = try RepeatableServer(limits: limits)
        server.holdNothingBack()
        for key in ["a", "b"] {
            #expect(try server.ask("PUT", "/v1/properties/a", key: key, "1").status < 300)
        }
        let refused = try server.ask("PUT", "/v1/properties/a", key: "c", "1")
        #expect(refused.status == 503 && refused.problem == "too-many-idempotency-keys")
        #expect(refused.headers["retry-after"] == "1")
        #expect(try server.ask("PUT", "/v1/properties/a", key: "a", "1").status == 201)
        #expect(try server.ask("PUT", "/v1/properties/a", "1").status == 204, "without a key")
        server.nanoseconds.now.store(10_000_000_000, ordering: .relaxed)
        #expect(server.metric("latchkey_idempotency_keys") == "0")
        #expect(try server.ask("PUT", "/v1/properties/a", key: "c", "1").status == 204)
        #expect(try server.ask("PUT", "/v1/properties/a", key: "a", "1").status == 204)
    }

    @Test func `without a time the header is ignored`() throws {
        var limits = IdempotencyLimits()
        limits.time = .zero
        let server = try RepeatableServer(limits: limits)
        server.holdNothingBack()
        for sum in 1...3 {
            let answer = try server.ask("POST", "/v1/properties/a/increment", key: "k")
            #expect(answer.text == "\(sum)")
        }
        #expect(try server.ask("POST", "/v1/properties/a/increment", key: "ä").text == "4")
        #expect(server.metric("latchkey_idempotency_keys") == nil)
    }
}

/// A note as 0.1 stored it with a commit.
struct EarlierNote {
    let bytes: [UInt8]

    init(fingerprint: RequestFingerprint, status: UInt16 = 201) throws {
        let note: [String: Any] = [
            "key": Data("key".utf8).base64EncodedString(),
            "client": ["kind": 1, "bits": 2_130_706_433],
            "fingerprint": Data(fingerprint.bytes).base64EncodedString(),
            "status": status,
            "fields": [["Cache-Control", "no-cache"], ["ETag", "\"7\""]],
            "body": Data("{}".utf8).base64EncodedString(),
        ]
        bytes = Array(try JSONSerialization.data(withJSONObject: note))
    }
}
