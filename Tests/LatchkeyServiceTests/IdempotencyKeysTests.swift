import LatchkeyHTTP
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// Which request with a key runs, which waits, and how long answers are kept.
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

    @Test func `a long answer has its room before it is put together`() {
        let keys = Keys { $0.byteCountMax = 20000 }
        #expect(keys.take("a", waiting: 1) == .run)
        #expect(keys.take("b", waiting: 2) == .run)
        #expect(keys.reserve("a", byteCount: 1024))
        #expect(keys.byteCount == 2 * (321 + 1024))
        #expect(!keys.reserve("a", byteCount: 1024 + 10001), "half of all bytes are for long ones")
        #expect(keys.reserve("a", byteCount: 1024 + 10000))
        #expect(keys.byteCount == 2 * (321 + 1024) + 10000)
        #expect(!keys.reserve("b", byteCount: 1025))
        #expect(keys.finish("a", String(repeating: "x", count: 11024)) == .answered([]))
        #expect(keys.byteCount == 2 * (321 + 1024) + 10000)
        #expect(keys.finish("b", "short") == .answered([]))
        #expect(keys.byteCount == 2 * 321 + 11024 + 5)
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
        let notKept = String(decoding: Problem.answerNotKept.json(), as: UTF8.self)
        let longest = String(repeating: "x", count: 1024 + 5000)
        for (answer, kept) in [(longest, longest), (longest + "x", notKept)] {
            let keys = Keys { $0.byteCountMax = 10_000 }
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
        let notKept = String(decoding: Problem.answerNotKept.json(), as: UTF8.self)
        let longest = String(repeating: "x", count: 1024 + 2048)
        #expect(keys.take("l", waiting: 0, from: "10.0.0.1") == .run)
        #expect(keys.finish("l", longest + "x") == .answered([]))
        #expect(keys.take("l", waiting: 0, from: "10.0.0.1") == .answer(notKept))
        keys.advance(10)
        #expect(keys.take("m", waiting: 0, from: "10.0.0.1") == .run)
        #expect(keys.finish("m", longest) == .answered([]))
        #expect(keys.take("m", waiting: 0, from: "10.0.0.1") == .answer(longest))
    }

    @Test func `a fingerprint tells methods, targets and bodies apart`() {
        let requests: [(StaticString, StaticString, StaticString, StaticString)] = [
            ("PUT", "/a", "", "1"), ("DELETE", "/a", "", "1"), ("PUT", "/b", "", "1"),
            ("PUT", "/a", "x", "1"), ("PUT", "/a", "", "2"), ("PUT", "/a", "1", ""),
            ("PUT", "/", "a", "1"), ("PUT/", "a", "", "1"),
        ]
        let prints = requests.map {
            RequestFingerprint(
                method: Bytes($0.0),
                path: Bytes($0.1),
                query: Bytes($0.2),
                body: Bytes($0.3)
            )
        }
        #expect(Set(prints).count == requests.count)
        #expect(Keys.print("PUT 1") == Keys.print("PUT 1"))
    }

    @Test(
        arguments: [
            ("wait=1", ""), ("wait=1", "wait=60"), ("prefix=a&wait=1", "prefix=a"),
            ("wait=1&prefix=a", "prefix=a"), ("a=1&wait=1&b=2", "a=1&b=2&wait=9"),
        ] as [(StaticString, StaticString)]
    )
    func `a fingerprint is the same for another wait`(query: StaticString, other: StaticString) {
        #expect(Self.print(query: query) == Self.print(query: other))
    }

    @Test(
        arguments: [
            ("wait=1", "await=1"), ("wait", ""), ("prefix=wait=1", "prefix="),
            ("a=1&b=2", "b=2&a=1"),
            ("a&wait=1&b", "ab"), ("waits=1", ""),
        ] as [(StaticString, StaticString)]
    )
    func `a fingerprint tells other queries apart`(query: StaticString, other: StaticString) {
        #expect(Self.print(query: query) != Self.print(query: other))
    }

    private static func print(query: StaticString) -> RequestFingerprint {
        RequestFingerprint(
            method: Bytes("POST"),
            path: Bytes("/v1/pop"),
            query: Bytes(query),
            body: Bytes("")
        )
    }
}

/// Keys of requests that are numbers, with a clock that the test turns.
private final class Keys: Sendable {
    enum Turn: Equatable {
        case run, wait, reused, full, shareTaken
        case answer(String)
    }

    enum Continuation: Equatable {
        case answered([Int])
        case runs(Int)
    }

    private let clock = TestClock()
    private let keys: IdempotencyKeys<Int>

    init(clientShare: Int = 1, _ adjust: (inout IdempotencyLimits) -> Void = { _ in }) {
        var limits = IdempotencyLimits()
        adjust(&limits)
        keys = IdempotencyKeys(limits, clientShare: clientShare, clock: clock.read)
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
        let (key, client) = (Array(key.utf8), ClientKey(address))
        var turn = keys.take(key, client, Self.print(request))
        if case .wait = turn {
            turn = keys.wait(
                key,
                client,
                Self.print(request),
                waiting,
                number: UInt64(waiting),
                byteCount: byteCount
            )
        }
        return switch turn {
        case .run: .run
        case .wait: .wait
        case .reused: .reused
        case .full: .full
        case .shareTaken: .shareTaken
        case .answer(let answer): .answer(String(decoding: answer.body, as: UTF8.self))
        }
    }

    func giveUp(_ key: String, waiting: Int) -> Int? {
        keys.giveUp(Array(key.utf8), UInt64(waiting))
    }

    func reserve(_ key: String, byteCount: Int) -> Bool {
        keys.reserve(Array(key.utf8), byteCount: byteCount)
    }

    func finish(_ key: String, _ body: String?) -> Continuation {
        let answer = body.map { KeptAnswer(status: 200, fields: [], body: Array($0.utf8)) }
        return switch keys.finish(Array(key.utf8), answer) {
        case .answer(let waiting): .answered(waiting)
        case .run(let next): .runs(next)
        }
    }
}
