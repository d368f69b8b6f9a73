import LatchkeyJSON
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Transactions as clients send them, and their answers.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct TransactionTests {
    @Test func `conditions choose the branch`() {
        let desk = TransactionDesk()
        desk.expect(
            #"{"then":[{"put":"a","value":{"x":1,"y":[1.0]}}]}"#,
            #"""
            {"succeeded":true,"revision":1,"results":[{"name":"a","revision":1,"created":1}]}
            """#
        )
        let holding = [
            #"{"name":"a","revision":1}"#, #"{"name":"b","revision":0}"#,
            #"{"name":"a","exists":true}"#, #"{"name":"b","exists":false}"#,
            #"{"name":"a","equals":{ "y":[10e-1],"x":1.0}}"#,
        ]
        let failing = [
            #"{"name":"a","revision":0}"#, #"{"name":"a","revision":2}"#,
            #"{"name":"b","revision":1}"#, #"{"name":"a","exists":false}"#,
            #"{"name":"b","exists":true}"#, #"{"name":"a","equals":{"x":1}}"#,
            #"{"name":"b","equals":null}"#,
        ]
        let branches = #""then":[{"get":"none"}],"else":[{"get":"none"},{"delete":"none"}]"#
        let none = #"{"name":"none","revision":0}"#
        for condition in holding {
            desk.expect(
                #"{"if":[\#(condition)],\#(branches)}"#,
                #"{"succeeded":true,"revision":1,"results":[\#(none)]}"#
            )
            for other in failing {
                desk.expect(
                    #"{"if":[\#(condition),\#(other)],\#(branches)}"#,
                    #"{"succeeded":false,"revision":1,"results":[\#(none),\#(none)]}"#
                )
            }
        }
        desk.expect("{}", #"{"succeeded":true,"revision":1,"results":[]}"#)
    }

    @Test(arguments: [1, 64, 65, 256], [#"x"#, #"\\"#])
    func `an answer is the same for names of every length, with escapes and without`(
        count: Int,
        character: String
    ) {
        let desk = TransactionDesk()
        let name = String(repeating: character, count: count)
        desk.expect(
            #"""
            {"then":[{"put":"\#(name)","value":1},{"get":"\#(name)"},
            {"put":"\#(name)","value":2,"ttl":60},{"get":"\#(name)"}]}
            """#,
            #"{"succeeded":true,"revision":1,"results":["#
                + #"{"name":"\#(name)","revision":1,"created":1},"#
                + #"{"name":"\#(name)","revision":1,"created":1,"value":1},"#
                + #"{"name":"\#(name)","revision":1,"created":1,"ttl":60.000},"#
                + #"{"name":"\#(name)","revision":1,"created":1,"ttl":60.000,"value":2}]}"#
        )
        desk.expect(
            #"{"then":[{"delete":"\#(name)"},{"get":"\#(name)"}]}"#,
            #"{"succeeded":true,"revision":2,"results":["#
                + #"{"name":"\#(name)","revision":0},{"name":"\#(name)","revision":0}]}"#
        )
    }

    @Test func `each step sees those before it, and all have one revision`() {
        let desk = TransactionDesk()
        desk.run(#"{"then":[{"put":"old","value":5},{"put":"gone","value":1}]}"#)
        desk.expect(
            #"""
            {"if":[{"name":"new","exists":false}],"then":[{"put":"new","value":{"a":1}},
            {"merge":"new","patch":{"a":null,"b":2}},{"get":"new"},{"increment":"old"},
            {"increment":"old","by":-10},{"get":"old"},{"delete":"gone"},{"get":"gone"},
            {"delete":"gone"},{"increment":"gone","by":3},{"put":"passing","value":1},
            {"delete":"passing"}]}
            """#,
            #"{"succeeded":true,"revision":2,"results":["#
                + #"{"name":"new","revision":2,"created":2},"#
                + #"{"name":"new","revision":2,"created":2,"value":{"b":2}},"#
                + #"{"name":"new","revision":2,"created":2,"value":{"b":2}},"#
                + #"{"name":"old","revision":2,"created":1,"value":6},"#
                + #"{"name":"old","revision":2,"created":1,"value":-4},"#
                + #"{"name":"old","revision":2,"created":1,"value":-4},"#
                + #"{"name":"gone","revision":0},{"name":"gone","revision":0},"#
                + #"{"name":"gone","revision":0},"#
                + #"{"name":"gone","revision":2,"created":2,"value":3},"#
                + #"{"name":"passing","revision":2,"created":2},"#
                + #"{"name":"passing","revision":0}]}"#
        )
        #expect(
            desk.bench.story(after: 1).sorted()
                == ["2 put gone 3", #"2 put new {"b":2}"#, "2 put old -4"]
        )
        #expect(desk.bench.base.usage.propertyCount == 3)
    }

    @Test func `a put replaces the time to live, and the others keep it`() {
        let desk = TransactionDesk()
        desk.expect(
            #"{"then":[{"put":"a","value":1,"ttl":90},{"put":"b","value":{},"ttl":0.001}]}"#,
            #"{"succeeded":true,"revision":1,"results":["#
                + #"{"name":"a","revision":1,"created":1,"ttl":90.000},"#
                + #"{"name":"b","revision":1,"created":1,"ttl":0.001}]}"#
        )
        desk.expect(
            #"""
            {"then":[{"increment":"a"},{"merge":"b","patch":{},"ttl":5},{"get":"b"},
            {"put":"a","value":1},{"increment":"a","ttl":1.5},{"delete":"b"},
            {"increment":"b"}]}
            """#,
            #"{"succeeded":true,"revision":2,"results":["#
                + #"{"name":"a","revision":2,"created":1,"ttl":90.000,"value":2},"#
                + #"{"name":"b","revision":2,"created":1,"ttl":5.000,"value":{}},"#
                + #"{"name":"b","revision":2,"created":1,"ttl":5.000,"value":{}},"#
                + #"{"name":"a","revision":2,"created":1},"#
                + #"{"name":"a","revision":2,"created":1,"ttl":1.500,"value":2},"#
                + #"{"name":"b","revision":0},"#
                + #"{"name":"b","revision":2,"created":2,"value":1}]}"#
        )
        #expect(desk.bench.store.property("a")?.expiry == Timestamp(milliseconds: 1500))
        #expect(desk.bench.store.property("b")?.isMortal == false)
    }

    /// The store alone, so that no commit removes the expired property first.
    @Test func `an expired property counts as missing`() throws {
        let clock = ManualClock()
        let limits = StoreLimits(propertyCountMax: 2)
        let store = BlockingStore(stripeCount: 4, limits: limits, clock: clock.clock)
        _ = store.commit([.put("a", "7", ttl: 10), .put("b", "7", ttl: 10)])
        clock.advance(10)
        let exists = Transaction.Condition(.owning("a"), .exists(false))
        let revision = Transaction.Condition(.owning("b"), .revision(0))
        let steps: [Change.Step] = [.delete("b"), .increment("a"), .get("b")]
        let decision = store.commit(.transaction(Transaction(if: [exists, revision], steps)))
        let commit = try decision.get()
        let outcome = try #require(commit.outcome)
        #expect(outcome.succeeded)
        #expect(outcome.results.map(\.revision) == [0, 2, 0])
        #expect(outcome.results.map(\.created)[1] == 2, "it was created again")
        #expect(store.value("a") == "1")
        #expect(store.property("a")?.isMortal == false)
        #expect(commit.effects.map(\.isCreation) == [true])
    }

    /// The revision of the store is that of another commit.
    @Test func `a value that was in no revision shows none, issue 17`() {
        let desk = TransactionDesk()
        desk.run(#"{"then":[{"put":"a","value":1}]}"#)
        desk.expect(
            #"{"then":[{"increment":"b","ttl":5},{"get":"b"},{"delete":"b"}]}"#,
            #"{"succeeded":true,"revision":1,"results":["#
                + #"{"name":"b","revision":0,"ttl":5.000,"value":1},"#
                + #"{"name":"b","revision":0,"ttl":5.000,"value":1},"#
                + #"{"name":"b","revision":0}]}"#
        )
    }

    @Test func `a transaction that removes what has expired says so, issue 17`() throws {
        let clock = ManualClock()
        let store = BlockingStore(stripeCount: 4, clock: clock.clock)
        _ = store.commit([.put("a", "7", ttl: 10), .put("b", "7", ttl: 10)])
        _ = store.commit([.put("c", "7")])
        clock.advance(10)
        let steps: [Change.Step] = [
            .put("a", "1"), .delete("a"), .increment("b"), .delete("b"), .put("b", "2"),
            .delete("c"), .delete("a"),
        ]
        let commit = try store.commit(steps).get()
        let effects = commit.effects.sorted {
            PropertyName(of: $0.some).text < PropertyName(of: $1.some).text
        }
        #expect(effects.map(\.reason) == [.expired, .requested, .requested])
        #expect(effects.map { $0.property == nil } == [true, false, true])
        #expect(effects[1].isCreation, "the expired property was created again")
        #expect(commit.outcome?.results.map(\.revision) == [3, 0, 3, 0, 3, 0, 0])
    }

    @Test func `a refusal names its step, and nothing is made`() {
        let desk = TransactionDesk(limits: StoreLimits(propertyCountMax: 3))
        desk.run(#"{"then":[{"put":"a","value":[]},{"put":"b","value":1}]}"#)
        let store = BlockingStore(desk.bench.base)
        let before = store.digest()
        let refused: [(String, Refusal)] = [
            (
                #"{"then":[{"increment":"b"},{"increment":"a"}]}"#,
                .step(1, .then, .notAnInteger)
            ),
            (
                #"""
                {"if":[{"name":"c","exists":true}],"else":[{"delete":"a"},{"put":"c","value":2},
                {"increment":"c","by":9223372036854775806}]}
                """#,
                .step(2, .otherwise, .overflow)
            ),
            (
                #"{"then":[{"put":"c","value":1},{"put":"d","value":1}]}"#,
                .full(.properties(shortage: 1))
            ),
        ]
        for (transaction, refusal) in refused {
            #expect(desk.refusal(transaction) == refusal)
            #expect(store.digest() == before)
            #expect(desk.bench.base.usage.propertyCount == 2)
            #expect(desk.bench.journal.last == 1)
        }
    }
}

/// Reads transactions, makes them, and writes their answers.
private struct TransactionDesk {
    let bench: JournaledBench

    init(limits: StoreLimits = StoreLimits()) {
        bench = JournaledBench(limits: limits)
    }

    private func commit<Result>(
        _ text: String,
        _ body: (Transaction, Decision) throws -> Result
    ) throws -> Result {
        try withJSON(text) { json in
            let transaction = try Transaction(json)
            return try body(transaction, bench.store.commit(.transaction(transaction)))
        }
    }

    @discardableResult
    func run(_ text: String) -> String? {
        do {
            return try commit(text) { transaction, decision in
                var json = JSONWriter()
                json.transaction(transaction, try decision.get())
                return String(decoding: json.bytes, as: UTF8.self)
            }
        } catch {
            Issue.record("\(text): \(error)")
            return nil
        }
    }

    func expect(_ text: String, _ answer: String) {
        #expect(run(text) == answer)
    }

    func refusal(_ text: String) -> Refusal? {
        try? commit(text) { _, decision in decision.refusal }
    }
}
