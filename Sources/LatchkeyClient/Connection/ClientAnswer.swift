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

    /// Whether the same request can be answered otherwise later.
    ///
    /// So it is after 500, when the outcome is not known, and after what a proxy says.
    package var isTransient: Bool { status >= 500 && status != 507 || status == 429 }

    package var text: String { String(decoding: body, as: UTF8.self) }

    /// The body, if it is JSON.
    package var json: JSONValue? { JSONValue(body) }

    /// The value of the last field of this name, in lower case, without the white space in front.
    package func field(_ name: String) -> String? {
        var found: String?
        for line in String(decoding: head, as: UTF8.self).split(whereSeparator: \.isNewline) {
            guard let colon = line.firstIndex(of: ":"), line[..<colon].lowercased() == name else {
                continue
            }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            found = String(value)
        }
        return found
    }

    /// The revision of the property: its entity tag without quotes.
    package var revision: UInt64? {
        field("etag").flatMap { UInt64($0.filter { $0 != "\"" }) }
    }
}
