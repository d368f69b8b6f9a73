import Testing

@testable import LatchkeyReplicas
@testable import LatchkeyStore

/// The texts of a leader, as a follower reads them.
@Suite struct LeaderTextTests {
    static let property =
        #"{"name":"a\"é","value":{"x": 1.50},"revision":3,"created":2,"expires":9}"#

    /// The state of a text that comes in pieces of this many bytes.
    static func state(
        _ text: [UInt8],
        pieces: Int = 1000,
        _ limits: StoreLimits = StoreLimits()
    ) -> LeaderText.State {
        var state = LeaderText.State(limits)
        var rest = text[...]
        while !rest.isEmpty {
            unsafe Array(rest.prefix(pieces)).withUnsafeBytes { unsafe state.feed($0) }
            rest = rest.dropFirst(pieces)
        }
        return state
    }

    static func changes(_ effects: String, _ member: String = "") -> LeaderText.Changes? {
        LeaderText.changes(
            Array(
                """
                {"revision":9,"changes":[{"revision":8,"milliseconds":5,"effects":[\(effects)]}],
                "next":8\(member)}
                """.utf8
            )
        )
    }

    private static func value(_ property: Property?) -> String? {
        property.map { String(decoding: unsafe Array($0.valueBytes), as: UTF8.self) }
    }

    @Test(arguments: [1, 2, 7, 1000])
    func `an export is read in pieces of any length`(pieces: Int) throws {
        let text =
            "{\"name\":\"b\",\"text\":\"[\\n1]\",\"revision\":4,\"created\":4}\n"
        let state = Self.state(
            Array("\(Self.property)\n\(text){\"end\":true,\"count\":2,\"revision\":7}\n".utf8),
            pieces: pieces
        )
        #expect(state.failure == nil && state.revision == 7)
        try #require(state.properties.count == 2)
        let (one, other) = (state.properties[0], state.properties[1])
        #expect(Self.value(one) == "{\"x\": 1.50}" && Self.value(other) == "[\n1]")
        #expect(one.revision == 3 && one.created == 2 && one.expiry.milliseconds == 9)
        #expect(other.expiry == .never)
        #expect(String(decoding: unsafe Array(one.nameBytes), as: UTF8.self) == "a\"é")
    }

    @Test func `an export that is cut off has no revision`() {
        let text = "\(Self.property)\n{\"end\":true,\"count\":1,\"revision\":7}"
        let state = Self.state(Array(text.utf8))
        #expect(state.failure == nil && state.revision == nil)
    }

    @Test(
        arguments: [
            // A line is missing.
            #"{"end":true,"count":1,"revision":7}"#, #"{"end":true,"count":0}"#,
            #"{"end":true,"revision":7}"#, #"{"end":true,"count":0,"revision":-1}"#,
            #"{"name":"a","value":1,"revision":3"#, #"{"value":1,"revision":3,"created":2}"#,
            #"{"name":"a","revision":3,"created":2}"#, #"{"name":"","value":1,"revision":3}"#,
            #"{"name":"a","value":1,"revision":3}"#, #"{"name":"a","value":1,"created":2}"#,
            #"{"name":"a","value":1,"revision":3,"created":2,"expires":"soon"}"#, "", "1", "[]",
        ]
    )
    func `a line that no leader sends breaks an export`(line: String) {
        #expect(Self.state(Array("\(line)\n".utf8)).failure != nil)
    }

    @Test func `each kind of effect is read`() throws {
        let found = try #require(
            Self.changes(
                """
                {"type":"put","name":"a","created":2,"value":[1, 2],"revision":8,"expires":6},
                {"type":"touch","name":"b","created":2,"value":1,"revision":3},
                {"type":"expire","name":"c"},
                {"type":"delete","name":"d","reason":"evicted"},
                {"type":"delete","name":"e","reason":"deleted"}
                """
            )
        )
        #expect(found.latest == 9 && found.next == 8)
        let commit = try #require(found.commits.first)
        #expect(commit.revision == 8 && commit.time.milliseconds == 5)
        let effects = commit.effects
        #expect(effects.map(\.reason) == [.requested, .touched, .expired, .evicted, .requested])
        #expect(effects.map { $0.property?.revision } == [8, 3, nil, nil, nil])
        #expect(Self.value(effects[0].property) == "[1, 2]")
        #expect(effects[0].property?.expiry.milliseconds == 6)
    }

    @Test(
        arguments: [
            #"{"type":"move","name":"a"}"#, #"{"name":"a"}"#, #"{"type":"expire"}"#,
            #"{"type":"put","name":"a","created":2,"value":1}"#,
            #"{"type":"put","name":"a","created":2,"revision":8}"#,
            #"{"type":"put","name":"a","value":1,"revision":8}"#,
            #"{"type":"touch","name":"a","created":2,"value":1}"#, #"{"type":"delete","name":""}"#,
        ]
    )
    func `an effect that no leader sends is no change`(effect: String) {
        #expect(Self.changes(effect) == nil)
    }

    @Test(
        arguments: [
            "", "{", "[]", "{}", #"{"revision":9,"next":8}"#, #"{"revision":9,"changes":[]}"#,
            #"{"changes":[],"next":8}"#, #"{"revision":-9,"changes":[],"next":8}"#,
            #"{"revision":9,"changes":[{"effects":[],"milliseconds":1}],"next":8}"#,
            #"{"revision":9,"changes":[{"effects":[],"revision":8}],"next":8}"#,
            #"{"revision":9,"changes":[{"revision":8,"milliseconds":1}],"next":8}"#,
        ]
    )
    func `a page that no leader sends is invalid`(page: String) {
        #expect(LeaderText.changes(Array(page.utf8)) == nil)
    }
}
