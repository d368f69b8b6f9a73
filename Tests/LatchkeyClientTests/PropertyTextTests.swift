import LatchkeyClient
import LatchkeySettings
import LatchkeyTestSupport
import Testing

/// The output of commands.
struct PropertyTextTests {
    private static func answer(_ fields: String, _ body: String) -> ClientAnswer {
        ClientAnswer(
            status: 200,
            head: Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8),
            body: Array(body.utf8)
        )
    }

    @Test func `a property is an object with what its answer says`() throws {
        let fields = "ETag: \"12\"\r\nLatchkey-Created: 3\r\nLATCHKEY-TTL: 29.900\r\n"
        let object = PropertyText.object("a\"b", Self.answer(fields, " [1,\n2] "))
        let text = #"{"name":"a\"b","revision":12,"created":3,"ttl":29.900,"value":[1, 2]}"#
        #expect(object?.oneLine == text)
        #expect(PropertyText.object("a", Self.answer("", "no JSON")) == nil)
        let bare = PropertyText.object("a", Self.answer("", "null"))
        #expect(bare?.text == #"{"name":"a","value":null}"#)
    }

    @Test func `the last head of an answer counts`() {
        let answer = Self.answer("ETag: \"1\"\r\n\r\nHTTP/1.1 200 OK\r\nETag: \"2\"\r\n", "1")
        #expect(answer.revision == 2)
        #expect(answer.field("etag") == "\"2\"")
        #expect(answer.field("tag") == nil)
    }

    @Test(arguments: 0..<20)
    func `each property is one line of a table, and its value begins in one column`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        let rows = (0..<8).map { _ in
            let value = JSONValue(Array("[\n\(JSONValue(string: random.text()).text)\r\n]".utf8))
            return (name: random.text(1...12), value: value)
        }
        let lines = PropertyText.table(rows, width: nil).split(separator: "\n")
        try #require(lines.count == rows.count)
        let column = (rows.map(\.name.count).max() ?? 0) + 2
        for (line, row) in zip(lines, rows) {
            #expect(line.hasPrefix(row.name))
            #expect(String(line.dropFirst(column)) == row.value?.oneLine)
        }
        let narrow = PropertyText.table(rows, width: 10).split(separator: "\n")
        #expect(narrow.allSatisfy { $0.count <= 10 })
    }

    @Test func `a terminal gets no controls from names and values`() {
        let value = JSONValue(Array("\"\u{9B}31m\"".utf8))
        let line = PropertyText.table([("a\u{85}b", value)], width: nil)
        #expect(line == "a\u{FFFD}b  \"\u{FFFD}31m\"\n")
    }

    @Test(arguments: 0..<20)
    func `an event is one line, as text and as JSON`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let name = random.text(1...12)
        let value = "[\n\(JSONValue(string: random.text()).text)]"
        let data = #"{"name":\#(JSONValue(string: name).text),"revision":7,"value":\#(value)}"#
        let event = StreamEvent(type: "put", data: Array(data.utf8), id: "7.1")
        let object = PropertyText.object(of: event)
        #expect(!object.oneLine.contains("\n"))
        let line = try #require(JSONValue(Array(object.oneLine.utf8)))
        #expect(line["event"]?.string == "put")
        #expect(line["id"]?.string == "7.1")
        #expect(line["name"]?.string == name)
        #expect(line["value"]?.text == value.replacing("\n", with: " "))
        let text = PropertyText.line(of: event)
        #expect(text == "put \(name) \(value.replacing("\n", with: " "))")
    }

    @Test func `a gap says to which revision`() {
        let data = Array(#"{"revision":9,"oldest":5}"#.utf8)
        let gap = StreamEvent(type: "gap", data: data, id: "")
        #expect(PropertyText.line(of: gap) == "gap 9")
        #expect(
            PropertyText.object(of: gap).text == #"{"event":"gap","revision":9,"oldest":5}"#
        )
    }

    @Test(arguments: [
        ("1", "1"), ("0.5", "0.500"), ("5m", "300"), ("250ms", "0.250"), ("1h", "3600"),
    ])
    func `a time is sent in seconds`(text: String, seconds: String) {
        #expect(SecondsText.duration(text).map { SecondsText.text($0) } == seconds)
    }

    @Test(arguments: ["", "-1", "x", "1e3", "0", "11", "1 s"])
    func `a time out of its bounds is refused`(text: String) {
        #expect(throws: (any Error).self) {
            try SettingValues.times(0.001...10).check(text)
        }
    }
}
