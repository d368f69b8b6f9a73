/// The answer of a service.
package struct ClientAnswer: Sendable {
    package let status: Int
    package let body: [UInt8]
    private let head: [UInt8]

    package init(status: Int, head: [UInt8] = [], body: [UInt8] = []) {
        self.status = status
        self.head = head
        self.body = body
    }

    package var isSuccess: Bool { (200..<300).contains(status) }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, if it is JSON.
    package var json: JSONValue? { JSONValue(body) }

    /// The value of the last field of this name, in lower case, without white space around it.
    package func field(_ name: String) -> String? {
        var found: String?
        for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else {
                continue
            }
            found = TextFile.trimmed(line[line.index(after: colon)...])
        }
        return found
    }

    /// The revision of the property: its entity tag without quotes.
    package var revision: UInt64? {
        guard var tag = field("etag")?[...] else { return nil }
        // A proxy that compresses an answer weakens its tag.
        if tag.hasPrefix("W/") { tag = tag.dropFirst(2) }
        guard tag.count > 2, tag.first == "\"", tag.last == "\"" else { return nil }
        return UInt64(tag.dropFirst().dropLast())
    }

    /// The seconds after which the request is to be sent again.
    var retryAfter: Int? { field("retry-after").flatMap { Int($0) } }
}
