import LatchkeyFrame
import LatchkeyService
import LatchkeyStore
import Testing

/// The list of entity tags, by the grammar of RFC 9110 section 8.8.3.
struct EntityTagTests {
    private func parse(
        _ text: String,
        _ comparison: EntityTags.Comparison = .strong
    ) throws -> Conditions.Tags {
        try EntityTags.parse(Array(text.utf8), comparison: comparison)
    }

    @Test func `the revisions of a list are found`() throws {
        #expect(try parse("\"7\"") == .oneOf([7]))
        #expect(try parse(" \"7\" , \"8\",\"18446744073709551615\"") == .oneOf([7, 8, .max]))
        #expect(try parse(",, \"7\" ,\t,") == .oneOf([7]))
        #expect(try parse(" * ") == .any)
    }

    @Test func `a weak tag matches weakly only`() throws {
        #expect(try parse("W/\"7\", \"8\"") == .oneOf([8]))
        #expect(try parse("W/\"7\", \"8\"", .weak) == .oneOf([7, 8]))
    }

    @Test(arguments: [
        "\"\"", "\"x\"", "\"07\"", "\"0\"", "\"+7\"", "\"7 \"x", "\"18446744073709551616\"",
        "\"99999999999999999999999\"", "\"é\"",
    ])
    func `a tag that the server never gave matches nothing`(text: String) {
        if let tags = try? parse(text) {
            #expect(tags == .oneOf([]))
        }
    }

    @Test(arguments: [
        "", " ", ",", "7", "\"7", "7\"", "w/\"7\"", "W/7", "W \"7\"", "*, \"7\"", "**",
        "\"7\"\"8\"",
        "\"7\" \"8\"", "\"7\";", "\"\u{1}\"", "\"a b\"", "\"\u{7F}\"",
    ])
    func `anything else is malformed`(text: String) {
        #expect(throws: MalformedEntityTags.self) { try parse(text) }
    }
}
