import LatchkeyJSON
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)))
struct MergePatchTests {
    private func merge(_ target: String?, _ patch: String) throws -> String {
        try withJSON(patch) { patch in
            let text =
                try target.map { try withJSON($0) { MergePatch.apply(patch: patch, to: $0) } }
                ?? MergePatch.apply(patch: patch, to: nil)
            return String(decoding: text, as: UTF8.self)
        }
    }

    @Test(arguments: [
        // RFC 7396, appendix A.
        (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
        (#"{"a":"b"}"#, #"{"a":null}"#, #"{}"#),
        (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
        (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
        (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
        (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
        (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
        (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
        (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
        (#"{"a":"foo"}"#, "null", "null"),
        (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
        (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
        (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
        (#"{}"#, #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        // Members that are not named keep their spelling and their place.
        (#"{"a":1.50, "b" : 1E2 ,"c":"\u0061"}"#, #"{"b":2}"#, #"{"a":1.50,"b" : 2,"c":"\u0061"}"#),
        (#"{"a":1,  "b":[ 1 ],"c":3}"#, #"{"c":null}"#, #"{"a":1,  "b":[ 1 ]}"#),
        (#" { "a" : { "x" : 1 , "y" : 2 } } "#, #"{"a":{"y":3}}"#, #"{"a" : {"x" : 1,"y" : 3}}"#),
        (#"{"a":1}"#, #"{}"#, #"{"a":1}"#),
        (#"{ }"#, #"{ }"#, #"{}"#),
        // Members that the patch adds stand at the end, in the patch's order.
        (#"{"a":1}"#, #"{"c":{"z":null,"y":1},"b":[null]}"#, #"{"a":1,"c":{"y":1},"b":[null]}"#),
        // Names are compared as text.
        (#"{"\u0061":1,"b":2}"#, #"{"a":3}"#, #"{"\u0061":3,"b":2}"#),
        (#"{"😀":1}"#, #"{"\ud83d\ude00":null}"#, "{}"),
        (#"{"\ud800":1}"#, #"{"\ud801":null}"#, #"{"\ud800":1}"#),
        // The last of several members counts.
        (#"{"a":{"x":1},"b":2,"a":{"y":1}}"#, #"{"a":{"z":1}}"#, #"{"b":2,"a":{"y":1,"z":1}}"#),
        (#"{"a":1,"b":2,"a":3}"#, #"{"a":null}"#, #"{"b":2}"#),
        (#"{"a":{"x":1},"a":5}"#, #"{"a":{"y":1}}"#, #"{"a":{"y":1}}"#),
        (#"{"a":1}"#, #"{"a":{"x":1},"b":1,"a":{"y":1},"b":null}"#, #"{"a":{"y":1}}"#),
        (#"{"a":1}"#, #"{"a":null,"a":2}"#, #"{"a":2}"#),
        (#"{"a":1}"#, #"{"a":2,"a":null}"#, #"{}"#),
        (#"{"a":1,"a":2}"#, #"{"b":1}"#, #"{"a":1,"a":2,"b":1}"#),
        // A value that is no object is replaced.
        (
            #"{"a":[1],"b":2}"#, #"{"a":{"x":null,"y":[{"z":null}]}}"#,
            #"{"a":{"y":[{"z":null}]},"b":2}"#
        ),
        (#""text""#, #" {"a" : 1} "#, #"{"a" : 1}"#),
        (#"{"a":1}"#, " 2 ", "2"),
    ])
    func `the examples of the RFC hold, and bytes that are not named stay`(
        target: String,
        patch: String,
        result: String
    ) throws {
        #expect(try merge(target, patch) == result)
    }

    @Test func `a missing property is patched like an empty object`() throws {
        #expect(try merge(nil, #"{"a":{"b":null,"c":1},"d":null}"#) == #"{"a":{"c":1}}"#)
        #expect(try merge(nil, "null") == "null")
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random patches do what Foundation's values say`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed)
        for _ in 0..<150 {
            let target = JSONModel.random(depth: 4, &random).text(&random)
            let patch = JSONModel.random(depth: 4, &random).text(&random)
            let text = try merge(target, patch)
            try withJSON(text) { _ in }
            let expected = try JSONModel(reading: target.utf8)
                .merged(with: JSONModel(reading: patch.utf8))
            #expect(try JSONModel(reading: text.utf8) == expected, "\(target) with \(patch)")
        }
    }

    @Test(arguments: [5, 6] as [UInt64])
    func `random duplicates do not change what a patch means`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed)
        for _ in 0..<150 {
            let (target, patch) = (
                JSONModel.random(depth: 4, &random), JSONModel.random(depth: 3, &random)
            )
            // Equality, which has tests of its own, takes the last of several members.
            let plain = try merge(target.text(&random), patch.text(&random))
            let doubled = try merge(
                target.text(duplicates: true, &random),
                patch.text(duplicates: true, &random)
            )
            let areEqual = try withJSON(plain) { plain in
                try withJSON(doubled) { JSONEquality.areEqual(plain, $0) }
            }
            #expect(areEqual, "\(plain) and \(doubled)")
        }
    }

    /// A quadratic merge of these would take minutes.
    @Test func `large objects are merged in proportion to their length`() throws {
        let count = 100_000
        let target =
            "{" + (0..<count).map { "\"name\($0)\":\($0)" }.joined(separator: ",") + "}"
        let patch =
            "{"
            + (0..<count).reversed().map {
                "\"name\($0 * 2)\":" + ($0 % 2 == 0 ? "null" : "{\"x\":1,\"y\":null}")
            }.joined(separator: ",") + "}"
        let text = try merge(target, patch)
        try withJSON(text) { view in
            var count = 0
            for _ in view.members { count += 1 }
            // Of the even half of the target's names, every second was removed; the patch adds as
            // many as it replaces.
            #expect(count == 50_000 + 25_000 + 25_000)
        }
        #expect(text.hasPrefix(#"{"name1":1,"name2":{"x":1},"name3":3,"name5":5,"name6":{"x":1}"#))
        #expect(text.hasSuffix(#","name100002":{"x":1}}"#))
    }
}
