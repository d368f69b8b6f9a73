import Foundation
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyOperations

/// The effect of each kind of step on the store.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StepTests {
    private static func end(
        of bench: Bench,
        _ steps: OperationStep...
    ) throws
        -> OperationSnapshot
    {
        try bench.end(of: try bench.submit(OperationPlan(steps: steps)))
    }

    @Test func `each step's value is that of its property`() throws {
        let bench = Bench()
        #expect(try Self.end(of: bench, .put("a", "1")).value?.text == "1")
        #expect(try Self.end(of: bench, .increment("a")).value?.text == "2")
        #expect(try Self.end(of: bench, .get("a")).value?.text == "2")
        #expect(try Self.end(of: bench, .merge("a", "{\"b\":1}")).value?.text == "{\"b\":1}")
        #expect(try Self.end(of: bench, .delete("a")).value?.text == "null")
        #expect(try Self.end(of: bench, .delete("a")).value?.text == "null")
        #expect(bench.value("a") == nil)
    }

    @Test func `a missing property can be deleted, but not touched`() throws {
        let bench = Bench()
        #expect(try Self.end(of: bench, .delete("a")).state == .finished)
        #expect(try Self.end(of: bench, .touch("a")).state == .failed)
        #expect(try Self.end(of: bench, .put("a", "1"), .touch("a")).value?.text == "1")
    }

    /// The names decide who may see the value.
    @Test func `a value names the properties that it shows, whichever steps pass it on`() throws {
        let bench = Bench()
        func shown(_ steps: OperationStep...) throws -> [String] {
            let end = try bench.end(of: try bench.submit(OperationPlan(steps: steps)))
            let names = try #require(end.value, "\(end.failureText)").shown
            return names.map { unsafe String(decoding: $0.bytes, as: UTF8.self) }
        }
        let commit = OperationStep.transaction(
            #"{"if":[{"name":"c","exists":false}],"then":[{"get":"g"},{"put":"p","value":1}],"#
                + #""else":[{"pop":"q/"},{"count":"n/"},{"touch":"t","ttl":9}]}"#
        )
        #expect(try shown(.put("a", "1")) == [])
        for step in [OperationStep.get("a"), .touch("a"), .increment("a")] {
            #expect(try shown(step) == ["a"])
            #expect(try shown(step, .put("b", nil)) == ["a"])
            #expect(try shown(step, .put("b", nil), .put("b", "1")) == [])
        }
        #expect(try shown(.get("a"), .merge("b", nil)) == ["b", "a"])
        #expect(try shown(.get("a"), .merge("b", nil), .merge("d", nil)) == ["d", "b", "a"])
        #expect(try shown(.get("a"), .delete("a")) == [])
        #expect(try shown(commit) == ["c", "g", "q/", "n/"])
        #expect(try shown(.put("l", "[]"), .get("l"), .lines(nil)) == [])
    }

    /// A client that has lost the right to read a value must not write it elsewhere in a later
    /// step.
    @Test func `a step is refused by what it takes of the previous value`() throws {
        let bench = Bench()
        let asked = Synchronized<[[String]], LockStrategy>([])
        let plan = OperationPlan(
            refusal: { _, taken in
                let names = taken.map { unsafe String(decoding: $0.bytes, as: UTF8.self) }
                asked.write { $0.append(names) }
                return names.isEmpty ? nil : "refused"
            },
            steps: [.put("a", "1"), .get("a"), .put("b", nil)]
        )
        let end = try bench.end(of: try bench.submit(plan))
        #expect(end.failureText == "\(OperationFailure.notAllowed("refused"))")
        #expect(asked.read { $0 } == [[], [], ["a"]])
        #expect(bench.value("b") == nil)
    }

    @Test func `a transaction is one commit, and its answer is the value`() throws {
        let bench = Bench()
        let end = try Self.end(
            of: bench,
            .transaction(#"{"if":[{"name":"a","exists":false}],"then":[{"put":"a","value":1}]}"#),
            .put("result", nil)
        )
        #expect(end.state == .finished)
        #expect(
            bench.value("result")
                == #"{"succeeded":true,"revision":1,"#
                + #""results":[{"name":"a","revision":1,"created":1}]}"#
        )
        let failed = try Self.end(
            of: bench,
            .transaction(#"{"then":[{"put":"b","value":1},{"increment":"result"}]}"#)
        )
        let refusal = OperationFailure.refused(.step(1, .then, .notAnInteger))
        #expect(failed.failureText == "\(refusal)")
        #expect(bench.value("b") == nil, "nothing of it is applied")
    }

    @Test func `lines are imported in batches, from a text or an array`() throws {
        let bench = Bench()
        let lines = (1...300).map { #"{\"name\":\"n\#($0)\",\"value\":\#($0)}"# }
        let text = "\"" + lines.joined(separator: #"\r\n\n"#) + "\""
        let end = try Self.end(of: bench, .lines(text))
        #expect(end.value?.text == #"{"imported":300,"revision":3}"#)
        #expect(bench.value("n300") == "300")
        let array = try Self.end(
            of: bench,
            .put("list", #"[{"name":"x","value":[1]},{"name":"y","value":2,"ttl":9}]"#),
            .lines(nil)
        )
        #expect(array.value?.text == #"{"imported":2,"revision":5}"#)
        #expect(bench.value("x") == "[1]")
        #expect(try Self.end(of: bench, .lines("\"\"")).state == .finished)
    }

    @Test(arguments: [
        "{", "[]", #"{\"name\":\"a\"}"#, #"{\"name\":\"\",\"value\":1}"#,
        #"{\"name\":\"a\",\"value\":1,\"ttl\":0}"#, #"{\"name\":\"a\",\"value\":1,\"x\":0}"#,
    ])
    func `a bad line in the middle leaves the batches before it`(bad: String) throws {
        let bench = Bench()
        let good = (1...200).map { #"{\"name\":\"n\#($0)\",\"value\":\#($0)}"# }
        let text = "\"" + (good + [bad] + good).joined(separator: #"\n"#) + "\""
        let end = try Self.end(of: bench, .lines(text))
        #expect(end.failureText.hasPrefix("line(201, imported: 128, "))
        #expect(bench.value("n128") == "128")
        #expect(bench.value("n129") == nil, "nothing of the bad line's batch is applied")
        #expect(bench.store.usage.revision == 1)
    }

    @Test(arguments: [true, false])
    func `the end of an export need not be there, and is checked if it is`(
        isText: Bool
    ) throws {
        let bench = Bench()
        func end(_ lines: [String]) throws -> OperationSnapshot {
            guard isText else {
                return try Self.end(
                    of: bench,
                    .put("list", "[\(lines.joined(separator: ","))]"),
                    .lines(nil)
                )
            }
            let text = lines.joined(separator: "\\n").replacing("\"", with: "\\\"")
            return try Self.end(of: bench, .lines("\"\(text)\""))
        }
        let lines = (1...200).map { #"{"name":"n\#($0)","value":\#($0)}"# }
        let last = #"{"end":true,"count":200,"revision":7}"#
        for whole in [lines, lines + [last]] {
            let value = try end(whole).value?.text
            #expect(value?.hasPrefix(#"{"imported":200,"#) == true)
        }
        #expect(bench.value("n200") == "200")
        for (bad, line) in [
            (lines.dropLast() + [last], 200), (lines + [last, last], 202),
            (lines + [last] + lines, 202), ([last], 1),
        ] {
            #expect(try end(Array(bad)).failureText.hasPrefix("line(\(line), "))
        }
    }

    @Test(arguments: ["1", "{}", "null"])
    func `a value that is neither a text nor an array is not imported`(value: String) throws {
        let end = try Self.end(of: Bench(), .put("a", value), .lines(nil))
        #expect(end.failureText == "notLines")
    }
}
