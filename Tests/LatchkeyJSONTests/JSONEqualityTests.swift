import LatchkeyJSON
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)))
struct JSONEqualityTests {
    private func areEqual(_ one: String, _ other: String) throws -> Bool {
        try withJSON(one) { one in
            try withJSON(other) { other in
                let areEqual = JSONEquality.areEqual(one, other)
                #expect(JSONEquality.areEqual(other, one) == areEqual, "the other way round")
                #expect(JSONEquality.areEqual(one, one))
                return areEqual
            }
        }
    }

    private static let huge = String(repeating: "9", count: 40)

    @Test(arguments: [
        ("1", "1.0"), ("1", "1e0"), ("1", "10e-1"), ("1", "0.1E+1"), ("0", "-0.0e5"),
        ("0", "0e\(huge)"), ("100", "1e2"), ("0.0012", "12e-4"), ("-1.50", "-15e-1"),
        ("9007199254740993", "9007199254740993.0"), ("1e\(huge)", "1.0e+0\(huge)"),
        ("1e1\(String(repeating: "0", count: 40))", "10e\(huge)"),
        ("1e-1\(String(repeating: "0", count: 40))", "0.1e-\(huge)"),
        ("100e-1", "0.001e4"), ("12.34", "1234e-2"), ("1e-0", "1"),
        (#"{"a":1,"b":2}"#, #" { "b" : 2 , "a" : 1 } "#), (#""aé""#, #""\u0061\u00E9""#),
        (#"{"a":1,"a":2}"#, #"{"a":2}"#), (#"{"a":1,"b":1,"a":2}"#, #"{"b":1,"a":3,"\u0061":2}"#),
        (#"[1,[2,{"a":[]}],{}]"#, #"[1.0,[2 ,{ "a":[ ]}], { }]"#), (#""\/""#, #""/""#),
        (#""\ud83d\ude00""#, #""😀""#), (#"{"a":{"b":[1]}}"#, #"{"a":{"b":[1e0]}}"#),
        (#""\ud800""#, #""\uD800""#), ("[null,true]", "[ null , true ]"),
    ])
    func `order, white space, escapes and spellings of numbers do not matter`(
        one: String,
        other: String
    ) throws {
        #expect(try areEqual(one, other))
    }

    @Test(arguments: [
        ("1", "-1"), ("1", "10"), ("1", "1.1"), ("0", "1e-\(huge)"), ("1e\(huge)", "1e-\(huge)"),
        ("9007199254740993", "9007199254740992"), ("1e\(huge)", "1e9\(huge)"),
        ("1e\(huge)", "10e\(huge)"), ("0.1", "0.10000000000000001"), ("12", "21"), ("1", "1e1"),
        ("1e\(String(repeating: "9", count: 19))", "1e\(String(repeating: "9", count: 18))"),
        ("1e5", "1e-5"), ("1", "\"1\""), ("1", "true"), ("0", "false"), ("0", "null"),
        ("[]", "{}"), ("[1,2]", "[2,1]"), ("[1]", "[1,1]"), ("[]", "[[]]"), ("[[],1]", "[1,[]]"),
        (#"{"a":1}"#, #"{"a":1,"b":1}"#), (#"{"a":1}"#, #"{"b":1}"#), (#"{"a":null}"#, "{}"),
        (#"{"a":2,"a":1}"#, #"{"a":2}"#), (#""a""#, #""A""#), ("true", "false"),
        (#"{"a":{"b":[1]}}"#, #"{"a":{"b":[2]}}"#), (#""\ud800""#, #""\udc00""#),
        (#""\ud800""#, #""\ufffd""#), (#""é""#, #""e\u0301""#),
        (#"{"a":1,"a":1}"#, #"{"a":1,"b":1}"#),
        (#"{"a":1,"b":1}"#, #"{"a":1,"a":1}"#),
    ])
    func `other values differ`(one: String, other: String) throws {
        #expect(try !areEqual(one, other))
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `random values are equal if Foundation's are`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed)
        var equalCount = 0
        for _ in 0..<300 {
            let one = JSONModel.random(depth: 2, &random)
            let other = JSONModel.random(depth: 2, &random)
            let text = one.text(&random)
            equalCount += one == other ? 1 : 0
            #expect(try areEqual(text, one.text(duplicates: true, &random)), "\(text)")
            #expect(try areEqual(text, other.text(&random)) == (one == other), "\(one) \(other)")
        }
        #expect(equalCount > 0)
    }

    @Test(arguments: [5, 6] as [UInt64])
    func `a member that differs is found`(seed: UInt64) throws {
        print("seed \(seed)")
        var random = SeededGenerator(seed)
        for _ in 0..<150 {
            guard case .object(var members) = JSONModel.random(depth: 4, &random),
                let name = members.keys.sorted().randomElement(using: &random)
            else { continue }
            let text = JSONModel.object(members).text(duplicates: true, &random)
            members[name] = .string("another")
            #expect(try !areEqual(text, JSONModel.object(members).text(&random)), "\(text)")
            members[name] = nil
            #expect(try !areEqual(text, JSONModel.object(members).text(&random)), "\(text)")
        }
    }

    /// A quadratic comparison of these would take minutes.
    @Test func `large objects are compared in proportion to their length`() throws {
        let members = (0..<100_000).map { "\"name\($0)\":[\($0)]" }
        let one = "{" + members.joined(separator: ",") + "}"
        let other = "{" + members.reversed().joined(separator: ", ") + "}"
        #expect(try areEqual(one, other))
        #expect(try !areEqual(one, other.replacing("[77777]", with: "[77778]")))
    }
}
