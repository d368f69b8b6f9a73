import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyStore

/// Which requests with a key run, which wait, and how long answers are kept.
struct IdempotencyKeysTests {
    @Test func `the first request runs, later ones wait, and all get its answer`() {
        let keys = Keys()
        #expect(keys.take("k", waiting: 1) == .run)
        #expect(keys.take("k", waiting: 2) == .wait)
        #expect(keys.take("k", waiting: 3) == .wait)
        #expect(keys.take("other", waiting: 4) == .run)
        #expect(keys.finish("k", "done") == .answered([2, 3]))
        #expect(keys.take("k", waiting: 5) == .answer("done"))
        #expect(keys.finish("other", "done too") == .answered([]))
    }

    @Test func `after a refusal the request that has waited longest runs`() {
        let keys = Keys()
        #expect(keys.take("k", waiting: 1) == .run)
        #expect(keys.take("k", waiting: 2) == .wait)
        #expect(keys.take("k", waiting: 3) == .wait)
        #expect(keys.finish("k", nil) == .runs(2))
        #expect(keys.take("k", waiting: 4) == .wait)
        #expect(keys.finish("k", nil) == .runs(3))
        #expect(keys.finish("k", "done") == .answered([4]))
    }

    @Test func `a refused request frees its key, for any other request`() {
        let keys = Keys()
        #expect(keys.take("k", "PUT 1", waiting: 1) == .run)
        #expect(keys.finish("k", nil) == .answered([]))
        #expect(keys.count == 0)
        #expect(keys.take("k", "PUT 2", waiting: 2) == .run)
    }

    @Test func `a key is for one request, while it runs and afterwards`() {
        let keys = Keys()
        #expect(keys.take("k", "PUT 1", waiting: 1) == .run)
        #expect(keys.take("k", "PUT 2", waiting: 2) == .reused)
        #expect(keys.finish("k", "done") == .answered([]))
        #expect(keys.take("k", "PUT 2", waiting: 3) == .reused)
        #expect(keys.take("k", "PUT 1", waiting: 4) == .answer("done"))
    }

    @Test func `an answer is kept for its time from the answer, and not longer`() {
        let keys = Keys { $0.time = .seconds(10) }
        #expect(keys.take("k", waiting: 1) == .run)
        keys.advance(1000)
        #expect(keys.take("k", waiting: 2) == .wait, "a key that runs has no end")
        #expect(keys.finish("k", "done") == .answered([2]))
        keys.advance(9.999)
        #expect(keys.take("k", waiting: 3) == .answer("done"))
        keys.advance(0.001)
        #expect(keys.take("k", "another", waiting: 4) == .run)
        keys.advance(100)
        #expect(keys.take("k", "another", waiting: 5) == .wait, "the new one is not dropped")
    }

    @Test func `at the bound of keys only expired ones give way`() {
        let keys = Keys {
            $0.keyCountMax = 3
            $0.time = .seconds(10)
        }
        #expect(keys.take("a", waiting: 1) == .run)
        #expect(keys.finish("a", "A") == .answered([]))
        #expect(keys.take("b", waiting: 2) == .run)
        #expect(keys.take("b", waiting: 3) == .wait, "a waiting request takes a place, too")
        #expect(keys.take("c", waiting: 4) == .full)
        #expect(keys.take("b", waiting: 5) == .full)
        #expect(keys.take("a", waiting: 6) == .answer("A"), "nothing was dropped early")
        keys.advance(10)
        #expect(keys.take("c", waiting: 7) == .run)
        #expect(keys.finish("b", "B") == .answered([3]))
        #expect(keys.take("d", waiting: 8) == .run)
        #expect(keys.take("e", waiting: 9) == .full)
    }

    /// 320 bytes are an entry's, 1024 are reserved for its answer, and 4096 are those of a waiting
    /// request.
    @Test func `bytes are given back to the last one`() {
        let keys = Keys {
            $0.byteCountMax = 321 + 1024 + 4096 + 7
            $0.time = .seconds(10)
        }
        for round in 0..<1000 {
            #expect(keys.take("k", waiting: 1) == .run)
            #expect(keys.take("k", waiting: 2, byteCount: 8) == .full)
            #expect(keys.take("k", waiting: 3, byteCount: 7) == .wait)
            #expect(keys.byteCount == 321 + 1024 + 4096 + 7)
            #expect(keys.take("l", waiting: 4) == .full)
            if round.isMultiple(of: 2) {
                #expect(keys.finish("k", nil) == .runs(3))
                #expect(keys.byteCount == 321 + 1024)
                #expect(keys.finish("k", nil) == .answered([]))
            } else {
                #expect(keys.finish("k", "12345") == .answered([3]))
                #expect(keys.byteCount == 321 + 5)
                keys.advance(10)
            }
            #expect(keys.count == 0)
            #expect(keys.byteCount == 0)
        }
    }

    @Test func `a wait that is given up gives its place back, once`() {
        let keys = Keys { $0.keyCountMax = 3 }
        #expect(keys.take("k", waiting: 1) == .run)
        #expect(keys.giveUp("k", waiting: 1) == nil, "it runs")
        #expect(keys.take("k", waiting: 2, byteCount: 8) == .wait)
        #expect(keys.take("k", waiting: 3) == .wait)
        #expect(keys.take("k", waiting: 4) == .full)
        #expect(keys.giveUp("k", waiting: 2) == 2)
        #expect(keys.giveUp("k", waiting: 2) == nil)
        #expect(keys.giveUp("other", waiting: 2) == nil)
        #expect(keys.byteCount == 321 + 1024 + 4096)
        #expect(keys.take("k", waiting: 5) == .wait)
        #expect(keys.finish("k", "done") == .answered([3, 5]))
        #expect(keys.giveUp("k", waiting: 5) == nil, "it is answered")
        #expect(keys.byteCount == 321 + 4)
    }

    @Test func `a key needs room for a short answer before its request runs`() {
        let needed = 321 + 1024
        #expect(Keys { $0.byteCountMax = needed }.take("k", waiting: 1) == .run)
        #expect(Keys { $0.byteCountMax = needed - 1 }.take("k", waiting: 1) == .full)
        let keys = Keys { $0.byteCountMax = needed }
        #expect(keys.take("k", waiting: 1) == .run)
        let answer = String(repeating: "x", count: 1024)
        #expect(keys.finish("k", answer) == .answered([]))
        #expect(keys.byteCount == needed)
        #expect(keys.take("k", waiting: 2) == .answer(answer))
    }

    /// The long parts of all answers have half of the bytes.
    @Test func `an answer that does not fit is not kept, and its request does not run again`() {
        let notKept = "not kept"
        let longest = String(repeating: "x", count: 1024 + 10_000)
        for (answer, kept) in [(longest, longest), (longest + "x", notKept)] {
            let keys = Keys { $0.byteCountMax = 20_000 }
            #expect(keys.take("k", waiting: 1) == .run)
            #expect(keys.take("k", waiting: 2, byteCount: 0) == .wait)
            #expect(keys.finish("k", answer) == .answered([2]), "who waits gets the answer")
            #expect(keys.take("k", waiting: 3) == .answer(kept))
        }
    }

    @Test func `long answers of requests that run at once stay within the bound`() {
        let bound = 1 << 20
        let keys = Keys {
            $0.byteCountMax = bound
            $0.time = .seconds(10)
        }
        for number in 0..<30 { #expect(keys.take("\(number)", waiting: 0) == .run) }
        let answer = String(repeating: "x", count: 100_000)
        for number in 0..<30 {
            #expect(keys.finish("\(number)", answer) == .answered([]))
            #expect(keys.byteCount <= bound)
        }
        #expect((0..<30).count { keys.take("\($0)", waiting: 0) == .answer(answer) } == 5)
        #expect(keys.take("new", waiting: 0) == .run, "long answers keep out no new key")
        keys.advance(10)
        #expect(keys.count == 1)
        #expect(keys.take("last", waiting: 0) == .run)
        #expect(keys.finish("last", answer) == .answered([]))
        #expect(
            keys.take("last", waiting: 0) == .answer(answer),
            "expired ones gave their room back"
        )
    }

    @Test func `a client has its share of the places, and others have the rest`() {
        let keys = Keys(clientShare: 4) { $0.keyCountMax = 8 }
        for client in 1...4 {
            let address = "10.0.0.\(client)"
            #expect(keys.take("\(client)", waiting: 0, from: address) == .run)
            #expect(keys.take("\(client)", waiting: 0, from: address) == .wait)
            let refused: Keys.Turn = client < 4 ? .shareTaken : .full
            #expect(keys.take("more", waiting: 0, from: address) == refused)
            #expect(keys.take("1", waiting: 0, from: address) == refused, "to wait for others")
        }
        #expect(keys.take("more", waiting: 0, from: "10.0.0.5") == .full)
        #expect(keys.finish("1", nil) == .runs(0))
        #expect(keys.take("more", waiting: 0, from: "10.0.0.1") == .run)
        #expect(keys.take("last", waiting: 0, from: "10.0.0.1") == .full)
    }

    /// A quarter is room for three keys and short answers.
    @Test func `a client has its share of the bytes, and its long answers half of that`() {
        let keys = Keys(clientShare: 4) {
            $0.byteCountMax = 4 * 4096
            $0.time = .seconds(10)
        }
        for client in 1...4 {
            let address = "10.0.0.\(client)"
            for number in 1...3 {
                #expect(keys.take("\(client)\(number)", waiting: 0, from: address) == .run)
            }
            #expect(
                keys.take("more", waiting: 0, from: address) == (client < 4 ? .shareTaken : .full)
            )
        }
        #expect(keys.take("more", waiting: 0, from: "10.0.0.5") == .full)
        for number in 1...3 {
            #expect(keys.finish("1\(number)", "x") == .answered([]))
        }
        let notKept = "not kept"
        let longest = String(repeating: "x", count: 1024 + 2048)
        #expect(keys.take("l", waiting: 0, from: "10.0.0.1") == .run)
        #expect(keys.finish("l", longest + "x") == .answered([]))
        #expect(keys.take("l", waiting: 0, from: "10.0.0.1") == .answer(notKept))
        keys.advance(10)
        #expect(keys.take("m", waiting: 0, from: "10.0.0.1") == .run)
        #expect(keys.finish("m", longest) == .answered([]))
        #expect(keys.take("m", waiting: 0, from: "10.0.0.1") == .answer(longest))
    }

    @Test func `a decision of an earlier process is kept for the rest of its time, by its client`()
        throws
    {
        let prints = [Keys.print("PUT 1"), Keys.print("PUT 2")]
        let notes = try (1...2).map { number in
            let address = try #require(NetworkAddress("10.0.0.\(number)"))
            return IdentityRecord(
                identity: RequestIdentity(
                    key: Array("\(number)".utf8),
                    fingerprint: prints[number - 1].bytes
                ),
                time: Timestamp(milliseconds: Int64(number) * 1000),
                answer: KeptDecision(.failure(.missing), of: .transaction(Transaction([]))),
                owner: ClientKey(address).owner
            ).note
        }
        let keys = Keys(clientShare: 4) { ($0.keyCountMax, $0.time) = (4, .seconds(10)) }
        for note in notes {
            for record in try #require(IdentityRecord.records(note, .own)) {
                keys.restore(record)
            }
            #expect(IdentityRecord.records(note, .replicated) == nil)
        }
        #expect(keys.count == 2)
        #expect(keys.take("1", "PUT 1", waiting: 0, from: "10.0.0.3").isAnswer)
        #expect(keys.take("1", "PUT 2", waiting: 0, from: "10.0.0.3") == .reused)
        #expect(keys.take("more", waiting: 0, from: "10.0.0.1") == .shareTaken)
        keys.advance(11)
        #expect(keys.take("more", waiting: 0, from: "10.0.0.1") == .run, "the first is over")
        #expect(keys.take("more", waiting: 0, from: "10.0.0.2") == .shareTaken)
        let small = Keys { ($0.byteCountMax, $0.time) = (400, .seconds(10)) }
        for record in notes.flatMap({ IdentityRecord.records($0, .own) ?? [] }) {
            let answer = KeptDecision([UInt8](repeating: 0x20, count: 70))
            small.restore(
                IdentityRecord(
                    identity: record.identity,
                    time: record.time,
                    answer: answer,
                    owner: record.owner
                )
            )
        }
        #expect(small.take("1", "PUT 1", waiting: 0) == .answer(String(repeating: " ", count: 70)))
        #expect(small.take("2", "PUT 2", waiting: 0) == .answer("not kept"), "it had no room")
        #expect(small.byteCount == 2 * 321 + 70)
        var random = SeededGenerator(4)
        for _ in 0..<2000 {
            // A changed note is another note or invalid, and is read no further than its end.
            for record in IdentityRecord.records(random.mutated(notes[0], []), .own) ?? [] {
                let isShown = record.answer.map { $0.decision != nil } ?? true
                #expect(record.identity.isPossible && isShown)
            }
        }
    }
}

/// Keys of requests that are numbers, with a clock that the test turns.
private final class Keys: Sendable {
    enum Turn: Equatable {
        case run, wait, reused, full, shareTaken
        case answer(String)

        var isAnswer: Bool { if case .answer = self { true } else { false } }
    }

    enum Continuation: Equatable {
        /// These run, and get the decision.
        case answered([Int])
        /// This one runs, and decides.
        case runs(Int)
    }

    private let clock = TestClock()
    private let keys: IdempotencyKeys<Int>
    /// The first request with each key.
    private let requests = Guarded<[String: RequestIdentity]>([:])

    init(clientShare: Int = 1, _ adjust: (inout IdempotencyLimits) -> Void = { _ in }) {
        var limits = IdempotencyLimits()
        adjust(&limits)
        guard
            let keys = IdempotencyKeys<Int>(
                limits,
                clientShare: clientShare,
                clock: clock.timestamp
            )
        else { preconditionFailure("There is a time.") }
        self.keys = keys
    }

    var count: Int { keys.count() }
    var byteCount: Int { keys.byteCount }

    func advance(_ seconds: Double) {
        clock.advance(UInt64((seconds * 1e9).rounded()))
    }

    static func print(_ text: StaticString) -> RequestFingerprint {
        RequestFingerprint(method: Bytes(""), path: Bytes(""), query: Bytes(""), body: Bytes(text))
    }

    func take(
        _ key: String,
        _ request: StaticString = "",
        waiting: Int,
        byteCount: Int = 0,
        from client: String = "10.0.0.1"
    ) -> Turn {
        guard let address = NetworkAddress(client) else { return .full }
        let client = ClientKey(address)
        let identity = RequestIdentity(
            key: Array(key.utf8),
            fingerprint: Self.print(request).bytes
        )
        var turn = keys.take(identity, client)
        if case .wait = turn {
            turn = keys.wait(
                identity,
                client,
                waiting,
                number: UInt64(waiting),
                byteCount: byteCount
            )
        }
        switch turn {
        case .run:
            requests.write { $0[key] = identity }
            let change = Change.transaction(Transaction([]))
            guard keys.decision(of: identity, change) != nil else { return .run }
            let kept = keys.entry(identity.key)?.answer?.bytes
            _ = keys.finish(identity.key)
            return .answer(kept.map { String(decoding: $0, as: UTF8.self) } ?? "not kept")
        case .wait: return .wait
        case .reused: return .reused
        case .full: return .full
        case .shareTaken: return .shareTaken
        }
    }

    func restore(_ record: IdentityRecord) { keys.restore(record) }

    func giveUp(_ key: String, waiting: Int) -> Int? {
        keys.giveUp(Array(key.utf8), UInt64(waiting))
    }

    /// Keeps a decision, if there is one, and runs the requests that waited for it.
    func finish(_ key: String, _ body: String?) -> Continuation {
        guard let body, let identity = requests.read({ $0[key] }) else {
            return keys.finish(Array(key.utf8)).map { .runs($0) } ?? .answered([])
        }
        keys.keep(KeptDecision(Array(body.utf8)), of: identity)
        var next: [Int] = []
        while let waiting = keys.finish(identity.key) { next.append(waiting) }
        return .answered(next)
    }
}
