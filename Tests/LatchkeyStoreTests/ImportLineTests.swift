import LatchkeyStore
import Testing

struct ImportLineTests {
    @Test func `a line is read with its members in any order`() throws {
        for text in [
            #"{"name":"a","value":{"x":[1]},"ttl":1.5}"#,
            #" { "created" : 1 , "ttl":1.5,"value":{"x":[1]},"name":"a","revision":7 } "#,
            #"{"name":"b","\u006eame":"a","value":1,"value":{"x":[1]},"ttl":2,"ttl":1.5}"#,
        ] {
            _ = try withJSON(text) { view in
                let line = try ImportLine(view)
                #expect(line.name.isString("a"))
                #expect(line.value.spelling == #"{"x":[1]}"#)
                #expect(line.ttl?.integer(timesTenTo: 3) == 1500)
            }
        }
        _ = try withJSON(#"{"name":"a","value":null}"#) { view in
            let line = try ImportLine(view)
            #expect(line.value.kind == .null)
            #expect(line.ttl == nil)
        }
    }

    @Test(
        arguments: [
            ("1", .notAnObject), ("[]", .notAnObject), ("{}", .noName), (#"{"value":1}"#, .noName),
            (#"{"name":1,"value":1}"#, .noName), (#"{"name":"a"}"#, .noValue),
            (#"{"name":"a","value":1,"x":1}"#, .unknownMember),
            (#"{"name":"a","Value":1}"#, .unknownMember),
        ] as [(String, InvalidImportLine)]
    )
    func `a line that lacks something is refused`(
        text: String,
        reason: InvalidImportLine
    ) throws {
        _ = try withJSON(text) { view in
            #expect(throws: reason) { try ImportLine(view) }
        }
    }
}
