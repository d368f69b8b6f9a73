import LatchkeyJSON
import LatchkeyStore
import Testing

struct ImportLineTests {
    @Test func `a line is read with its members in any order`() throws {
        for text in [
            #"{"name":"a","value":{"x":[1]},"ttl":1.5}"#,
            #" { "created" : 1 , "ttl":1.5,"value":{"x":[1]},"name":"a","revision":7 } "#,
            #"{"\u006eame":"a","value":{"x":[1]},"ttl":1.5}"#,
        ] {
            _ = try withJSON(text) { view in
                guard case .property(let name, let value, let ttl) = try ImportLine(view) else {
                    Issue.record("\(text) is no property")
                    return
                }
                #expect(name.isString("a"))
                #expect(value.spelling == #"{"x":[1]}"#)
                #expect(ttl?.integer(timesTenTo: 3) == 1500)
            }
        }
        _ = try withJSON(#"{"name":"a","value":null}"#) { view in
            guard case .property(_, let value, nil) = try ImportLine(view) else {
                Issue.record("no property without a ttl")
                return
            }
            #expect(value.kind == .null)
        }
    }

    @Test(arguments: [
        (#"{"end":true,"count":0,"revision":0}"#, 0), (#"{"count":7,"end":true}"#, 7),
        (#"{"end":true,"count":9223372036854775807}"#, Int64.max),
    ])
    func `the last line of an export is read`(text: String, count: Int64) throws {
        _ = try withJSON(text) { view in
            guard case .end(count) = try ImportLine(view) else {
                Issue.record("\(text) is not the end")
                return
            }
        }
    }

    @Test func `the end that an export writes is read as its end`() throws {
        var bytes: [UInt8] = []
        ExportLine.appendEnd(count: 3, revision: .max, to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text == #"{"end":true,"count":3,"revision":18446744073709551615}"# + "\n")
        _ = try withJSON(text) { view in
            guard case .end(3) = try ImportLine(view) else {
                Issue.record("\(text) is not the end")
                return
            }
        }
    }

    @Test(
        arguments: [
            ("1", .notAnObject), ("[]", .notAnObject), ("{}", .noName), (#"{"value":1}"#, .noName),
            (#"{"name":1,"value":1}"#, .noName), (#"{"name":"a"}"#, .noValue),
            (#"{"name":"a","value":1,"x":1}"#, .unknownMember),
            (#"{"name":"a","Value":1}"#, .unknownMember),
            (#"{"name":"a","value":1,"count":1}"#, .unknownMember),
            (#"{"name":"b","name":"a","value":1}"#, .repeatedMember),
            (#"{"name":"b","\u006eame":"b","value":1}"#, .repeatedMember),
            (#"{"name":"a","value":1,"value":{"x":[1]}}"#, .repeatedMember),
            (#"{"name":"a","value":1,"ttl":2,"ttl":1.5}"#, .repeatedMember),
            (#"{"name":"a","value":1,"revision":2,"revision":2}"#, .repeatedMember),
            (#"{"name":"a","value":1,"created":2,"created":2}"#, .repeatedMember),
            (#"{"end":true,"end":true,"count":1}"#, .repeatedMember),
            (#"{"end":true,"count":1,"count":1}"#, .repeatedMember),
            (#"{"end":true}"#, .badEnd), (#"{"end":true,"count":-1}"#, .badEnd),
            (#"{"end":true,"count":1.5}"#, .badEnd), (#"{"end":true,"count":"1"}"#, .badEnd),
            (#"{"end":false,"count":1}"#, .badEnd), (#"{"end":1,"count":1}"#, .badEnd),
            (#"{"end":true,"count":1,"name":"a"}"#, .badEnd),
            (#"{"end":true,"count":1,"value":1}"#, .badEnd),
            (#"{"end":true,"count":1,"ttl":1}"#, .badEnd),
            (#"{"end":true,"count":1,"created":1}"#, .badEnd),
        ] as [(String, InvalidImportLine)]
    )
    func `a line that lacks something, or has something twice, is refused`(
        text: String,
        reason: InvalidImportLine
    ) throws {
        _ = try withJSON(text) { view in
            #expect(throws: reason) { try ImportLine(view) }
        }
    }
}
