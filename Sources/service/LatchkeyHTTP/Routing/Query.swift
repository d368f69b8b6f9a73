package import LatchkeySettings

/// The parameters of a query: names and values in their order, repeated names included.
///
/// `a=1&b=2` as in `application/x-www-form-urlencoded`, but strictly: a bad escape, bytes that are
/// not UTF-8, an empty parameter (`a=1&&b=2`) and an empty name are errors. A parameter without `=`
/// has an empty value. `+` is a space.
package struct Query: Sendable {
    package struct Parameter: Equatable, Sendable {
        package let name: String
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    package enum ParseError: Error, Equatable, Sendable {
        case encoding(PercentDecodingError)
        case emptyParameter
        /// More parameters than ``parametersMax``.
        case tooManyParameters
    }

    package static let parametersMax = 160

    package let parameters: [Parameter]

    package init(_ bytes: Bytes) throws(ParseError) {
        guard !bytes.isEmpty else {
            parameters = []
            return
        }
        var found: [Parameter] = []
        var start = 0
        while start <= bytes.count {
            var end = start
            var equals: Int?
            while end < bytes.count && bytes[end] != UInt8(ascii: "&") {
                if equals == nil && bytes[end] == UInt8(ascii: "=") {
                    equals = end
                }
                end += 1
            }
            let nameEnd = equals ?? end
            guard nameEnd > start else { throw .emptyParameter }
            guard found.count < Query.parametersMax else { throw .tooManyParameters }
            found.append(
                Parameter(
                    name: try Query.text(bytes.range(start, nameEnd)),
                    value: try Query.text(bytes.range(min(nameEnd + 1, end), end))
                )
            )
            start = end + 1
        }
        parameters = found
    }

    private static func text(_ bytes: Bytes) throws(ParseError) -> String {
        do {
            return String(
                decoding: try PercentDecoding.decode(bytes, plusIsSpace: true),
                as: UTF8.self
            )
        } catch {
            throw .encoding(error)
        }
    }
}
