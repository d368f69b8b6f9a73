import LatchkeyTestSupport
import Testing

@testable import LatchkeyJSON

/// The order of JSON values.
struct JSONOrderTests {
    private func relations(_ one: String, _ other: String) throws -> Set<JSONOrder.Relation> {
        try withJSON(one) { one in
            try withJSON(other) { other in
                Set(JSONOrder.Relation.allCases.filter { JSONOrder.holds(one, $0, other) })
            }
        }
    }

    private static let before: Set<JSONOrder.Relation> = [.less, .lessOrEqual, .notEqual]
    private static let behind: Set<JSONOrder.Relation> = [.greater, .greaterOrEqual, .notEqual]
    private static let same: Set<JSONOrder.Relation> = [.lessOrEqual, .greaterOrEqual]

    /// `number` times a power of ten, spelled in one of many ways.
    private func spelling(
        _ number: Int,
        _ power: Int,
        _ random: inout SeededGenerator
    ) -> String {
        let zeros = Int.random(in: 0...3, using: &random)
        let shift = String(repeating: "0", count: zeros)
        let sign = number < 0 ? "-" : ""
        let digits = "\(number.magnitude)"
        switch Int.random(in: 0..<3, using: &random) {
        case 0 where number != 0: return "\(sign)\(digits)\(shift)e\(power - zeros)"
        case 1: return "\(sign)\(digits).\(shift)E\(power)".replacing(".E", with: ".0E")
        default:
            let (head, tail) = (digits.prefix(1), digits.dropFirst())
            return "\(sign)\(head).\(tail)0e\(power + tail.count)"
        }
    }

    @Test func `numbers are compared exactly, however they are spelled`() throws {
        var random = SeededGenerator(1)
        for round in 0..<20_000 {
            let power = Int.random(in: -400...400, using: &random)
            let difference = Int.random(in: 0...4, using: &random)
            let bound = round % 2 == 0 ? 20 : 1_000_000_000_000
            let one = Int.random(in: -bound...bound, using: &random)
            let other = Int.random(in: -20...20, using: &random)
            // The same power of ten for both: the second number becomes so many times larger.
            let scale = [1, 10, 100, 1000, 10_000][difference]
            let expected =
                one < other * scale
                ? Self.before
                : one > other * scale
                    ? Self.behind : Self.same
            let texts = (
                spelling(one, power, &random), spelling(other, power + difference, &random)
            )
            #expect(try relations(texts.0, texts.1) == expected, "\(texts)")
        }
    }

    @Test(
        arguments: [
            ("1e999999999999999999999", "1e1000000000000000000000"), ("-1", "0"), ("-0.1", "-0.01"),
            ("-1e5", "1e-5"), ("9", "10"), ("0.9", "0.91"), ("123", "123.0001"),
            ("-1e1000000000000000000000", "-1e999999999999999999999"),
            ("1e-1000000000000000000000", "1e-999999999999999999999"), ("0", "1e-99999"),
            (#""""#, #""a""#), (#""a""#, #""b""#), (#""B""#, #""a""#), (#""a""#, #""aa""#),
            (#""\u0061""#, #""b""#), (#""z""#, #""\u00e9""#), (#""\uffff""#, #""\ud83d\ude00""#),
        ]
    )
    func `one value comes before the other`(one: String, other: String) throws {
        #expect(try relations(one, other) == Self.before)
        #expect(try relations(other, one) == Self.behind)
        #expect(try relations(one, one) == Self.same)
    }

    @Test(
        arguments: [
            ("1", #""1""#, true), ("null", "0", true), ("[1]", "[2]", true),
            (#"{"a":1}"#, "1", true), ("true", "false", true), ("[1,2]", "[1.0, 2]", false),
            ("null", "null", false), ("0", "-0.0e5", false),
        ]
    )
    func `values of other kinds are different and have no order, equal ones are not different`(
        one: String,
        other: String,
        areDifferent: Bool
    ) throws {
        for found in try [relations(one, other), relations(other, one)] {
            #expect(areDifferent ? found == [.notEqual] : !found.contains(.notEqual))
        }
    }
}
