import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient

/// Streams that come in pieces: events, and exports.
struct StreamEventTests {
    @Test(arguments: 0..<20)
    func `events do not depend on how their bytes come`(seed: UInt64) {
        var random = SeededGenerator(seed)
        var text = ": comment\n\n"
        var expected: [StreamEvent] = []
        for id in 0..<10 {
            let data = JSONValue(string: random.text()).text
            text += "event: put\ndata: \(data)\n"
            let hasID = Bool.random(using: &random)
            text += hasID ? "id: \(id)\n\n" : "\n"
            let last = hasID ? "\(id)" : expected.last?.id ?? ""
            expected.append(StreamEvent(type: "put", data: Array(data.utf8), id: last))
        }
        var events = StreamEvents()
        var found: [StreamEvent] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...30, using: &random))
            found += events.feed(piece)
            rest = rest.dropFirst(piece.count)
        }
        #expect(found == expected)
        #expect(events.lastID == expected.last?.id)
    }

    /// The first line of a stream can have a byte order mark, and `retry` is a number.
    @Test(arguments: ["\n", "\r", "\r\n"], 0..<10)
    func `lines end in three ways, whatever the pieces`(end: String, seed: UInt64) {
        var random = SeededGenerator(seed)
        let lines = [
            "\u{FEFF}id: 7", "retry: 1500", "retry: 1x", "event: put", "data: 1", "data", "",
            "id: 8\0", ":", "data: 2", "",
        ]
        var events = StreamEvents()
        var found: [StreamEvent] = []
        var rest = Array(lines.map { $0 + end }.joined().utf8)[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...9, using: &random))
            found += events.feed(piece)
            rest = rest.dropFirst(piece.count)
        }
        #expect(
            found == [
                StreamEvent(type: "put", data: Array("1\n".utf8), id: "7"),
                StreamEvent(type: "message", data: Array("2".utf8), id: "7"),
            ]
        )
        #expect(events.retryMilliseconds == 1500)
        events.cut()
        #expect(events.retryMilliseconds == 1500)
    }

    @Test func `a cut forgets the part of an event, and keeps the last id`() {
        var events = StreamEvents()
        #expect(events.feed(Array("event: put\ndata: 1\nid: 7\n\nid: 8\ndata: 2".utf8)).count == 1)
        events.cut()
        #expect(events.lastID == "7")
        let next = events.feed(Array("event: delete\ndata: {}\nid: 9\n\n".utf8))
        #expect(next == [StreamEvent(type: "delete", data: Array("{}".utf8), id: "9")])
    }

    @Test(arguments: 0..<10)
    func `an export is whole only with all its bytes`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let lines = (0..<5).map { _ in
            let name = JSONValue(string: random.text()).text
            return "{\"name\":\(name),\"value\":{\"end\":true}}\n"
        }
        let text = Array((lines.joined() + "{\"end\":true,\"count\":5,\"revision\":9}\n").utf8)
        for count in 0...text.count {
            var end = ExportEnd()
            var rest = text[..<count]
            while !rest.isEmpty {
                let piece = Array(rest.prefix(Int.random(in: 1...60, using: &random)))
                unsafe piece.withUnsafeBytes { unsafe end.feed($0) }
                rest = rest.dropFirst(piece.count)
            }
            #expect(end.isWhole == (count == text.count), "\(count) bytes")
        }
    }
}
