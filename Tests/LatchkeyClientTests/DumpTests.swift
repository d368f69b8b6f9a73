import LatchkeyClient
import Testing

@testable import latchkey

/// Dumps of other stores, and differences between exports.
struct DumpTests {
    /// The output of `etcdctl get --prefix "" -w json` 3.4.23.
    private static let etcd = """
        {"header":{"cluster_id":15118495548433857066,"member_id":13668033151171901709,\
        "revision":8,"raft_term":2},"kvs":[{"key":"YS9iaW5hcnk=","create_revision":7,\
        "mod_revision":7,"version":1,"value":"//4="},{"key":"YS9lbXB0eQ==","create_revision":5,\
        "mod_revision":5,"version":1},{"key":"YS9qc29u","create_revision":4,"mod_revision":4,\
        "version":1,"value":"eyJ4IjogWzEsMl19"},{"key":"YS9sZWFzZWQ=","create_revision":8,\
        "mod_revision":8,"version":1,"value":"dHJ1ZQ==","lease":4111120356447936268},\
        {"key":"YS9udW1iZXI=","create_revision":2,"mod_revision":2,"version":1,"value":"NQ=="},\
        {"key":"YS90ZXh0","create_revision":3,"mod_revision":3,"version":1,\
        "value":"aGVsbG8gd29ybGQ="},{"key":"YmFkAW5hbWU=","create_revision":6,"mod_revision":6,\
        "version":1,"value":"MQ=="}],"count":7}

        """

    private static let consul = """
        [
        \t{
        \t\t"key": "a/json",
        \t\t"flags": 0,
        \t\t"value": "eyJ4IjogWzEsMl19"
        \t},
        \t{
        \t\t"key": "folder/",
        \t\t"flags": 42,
        \t\t"value": ""
        \t}
        ]
        """

    private func dump(_ text: String, _ format: ForeignDump.Format) -> ForeignDump? {
        ForeignDump(Array(text.utf8), format)
    }

    private func lines(_ dump: ForeignDump?) -> [Substring] {
        String(decoding: dump?.lines ?? [], as: UTF8.self).split(separator: "\n")
    }

    @Test func `the keys of etcd become properties`() throws {
        let found = try #require(dump(Self.etcd, .etcd))
        #expect(
            lines(found) == [
                #"{"name":"a/empty","value":""}"#, #"{"name":"a/json","value":{"x": [1,2]}}"#,
                #"{"name":"a/leased","value":true}"#, #"{"name":"a/number","value":5}"#,
                #"{"name":"a/text","value":"hello world"}"#, #"{"end":true,"count":5}"#,
            ]
        )
        #expect(found.count == 5 && found.refusedCount == 2)
        let refusal = try #require(found.refusal)
        #expect(refusal.hasPrefix("2 of 7 keys cannot be imported: "))
        #expect(refusal.contains(#""a/binary": The value is neither JSON nor UTF-8."#))
        #expect(refusal.contains(#""bad\u0001name": "#))
    }

    @Test func `the keys of Consul become properties`() throws {
        let found = try #require(dump(Self.consul, .consul))
        #expect(
            lines(found) == [
                #"{"name":"a/json","value":{"x": [1,2]}}"#, #"{"name":"folder/","value":""}"#,
                #"{"end":true,"count":2}"#,
            ]
        )
        #expect(found.refusal == nil)
        #expect(dump("[]", .consul)?.count == 0)
        #expect(dump(#"{"header":{},"count":0}"#, .etcd)?.count == 0)
    }

    @Test(arguments: [
        ("[]", ForeignDump.Format.etcd), ("{}", .etcd), ("{}", .consul), ("", .etcd),
        ("x", .consul),
        (#"{"header":{},"kvs":[{"key":"?","value":""}]}"#, .etcd),
        (#"[{"key":"a","value":"x"}]"#, .consul), (#"[{"value":""}]"#, .consul),
        (#"{"name":"a","value":1}"#, .etcd),
    ])
    func `a text that is no dump is refused`(text: String, format: ForeignDump.Format) {
        #expect(dump(text, format) == nil)
    }

    @Test func `all keys that cannot be imported are counted, and the first are named`() throws {
        let rows = (0..<40).map { #"{"key":"\#($0)\u0007","flags":0,"value":"MQ=="}"# }
        let found = try #require(dump("[\(rows.joined(separator: ","))]", .consul))
        let refusal = try #require(found.refusal)
        #expect(refusal.hasPrefix("40 of 40 ") && refusal.hasSuffix(" And 35 more."))
    }

    @Test func `differences are told by name, and values by what they mean`() throws {
        var difference = ExportDifference()
        func value(_ text: String) throws -> JSONValue { try #require(JSONValue(Array(text.utf8))) }
        for (name, text) in [
            ("same", #"{"a":1,"b":[2]}"#), ("gone", "1"), ("b", "1"), ("number", "10"),
            ("\u{E9}", "1"),
        ] {
            difference.addFirst(name, try value(text))
        }
        for (name, text) in [
            ("same", #"{ "b": [2.0], "a": 1 }"#), ("new", "\"x\""), ("b", "[\n2]"),
            ("number", "1e1"),
        ] {
            difference.addSecond(name, try value(text))
        }
        // Another spelling of é is another name.
        difference.addSecond("e\u{301}", try value("1"))
        #expect(
            difference.changes.map(\.line) == [
                "~ b 1 -> [ 2]", "+ e\u{301} 1", "- gone 1", "+ new \"x\"", "- \u{E9} 1",
            ]
        )
        #expect(
            difference.changes.filter { $0.name.utf8.allSatisfy { $0 < 128 } }.map(\.json.oneLine)
                == [
                    #"{"change":"changed","name":"b","former":1,"value":[ 2]}"#,
                    #"{"change":"removed","name":"gone","former":1}"#,
                    #"{"change":"added","name":"new","value":"x"}"#,
                ]
        )
    }

    @Test func `lines of an export are found, however they are cut`() throws {
        let text = Array("{\"name\":\"a\",\"value\":1}\n{\"end\":true,\"count\":1}\n".utf8)
        for cut in 0...text.count {
            var lines = ExportLines(of: "A")
            var names: [String] = []
            for part in [text[..<cut], text[cut...]] {
                try unsafe Array(part).withUnsafeBytes { bytes in
                    try unsafe lines.feed(bytes) { name, _ in names.append(name) }
                }
            }
            try lines.finish()
            #expect(names == ["a"])
        }
        var half = ExportLines(of: "A")
        try unsafe Array(text.prefix(30)).withUnsafeBytes { try unsafe half.feed($0) { _, _ in } }
        #expect(throws: ClientFailure.self) { try half.finish() }
    }
}
