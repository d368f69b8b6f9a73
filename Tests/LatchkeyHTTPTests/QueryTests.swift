import LatchkeyHTTP
import LatchkeySettings
import Testing

@Suite struct QueryTests {
    private typealias Parameter = Query.Parameter

    @Test func `parameters come in their order, with repeated names`() throws {
        let query = try Query(Bytes("b=1&a=2&b=3"))
        #expect(
            query.parameters == [
                Parameter(name: "b", value: "1"), Parameter(name: "a", value: "2"),
                Parameter(name: "b", value: "3"),
            ]
        )
    }

    @Test func `names and values are decoded after they are told apart`() throws {
        let query = try Query(Bytes("a%3Db=c%26d+e&%C3%A4=x=y"))
        #expect(
            query.parameters == [
                Parameter(name: "a=b", value: "c&d e"), Parameter(name: "ä", value: "x=y"),
            ]
        )
    }

    @Test func `a value may be empty or missing`() throws {
        let query = try Query(Bytes("a=&b"))
        #expect(
            query.parameters == [
                Parameter(name: "a", value: ""), Parameter(name: "b", value: ""),
            ]
        )
        #expect(try Query(Bytes("")).parameters.isEmpty)
    }

    @Test(arguments: ["&", "a=1&", "&a=1", "a=1&&b=2", "=1", "a&=2"])
    func `a parameter without a name is an error`(text: StaticStringArgument) {
        #expect(throws: Query.ParseError.emptyParameter) { try Query(Bytes(text.value)) }
    }

    @Test(
        arguments: [
            ("%4=1", .truncatedEscape), ("b=1&a=%2", .truncatedEscape), ("a=%FF", .invalidText),
        ] as [(StaticStringArgument, PercentDecodingError)]
    )
    func `an invalid name or value is an error`(
        text: StaticStringArgument,
        error: PercentDecodingError
    ) {
        #expect(throws: Query.ParseError.encoding(error)) { try Query(Bytes(text.value)) }
    }

    @Test func `parameters are bounded`() throws {
        let most = Array(repeating: "a=1", count: Query.parametersMax).joined(separator: "&")
        #expect(try Query(most).parameters.count == Query.parametersMax)
        #expect(throws: Query.ParseError.tooManyParameters) { try Query(most + "&a=1") }
    }
}

extension Query {
    /// Parses a text of its own, which must live as long as parsing takes.
    fileprivate init(_ text: String) throws {
        var text = text
        self = try text.withUTF8 { try unsafe Query(Bytes($0)) }
    }
}
