internal import LatchkeyJSON

/// A JSON value: the bytes in which it was written, without the white space around it.
package struct JSONValue: Sendable, Equatable {
    package let bytes: [UInt8]

    /// Deeper than any value that a service accepts.
    private static let depthMax = 10_000

    /// `nil` if the bytes are not one JSON text.
    package init?(_ text: [UInt8]) {
        let bytes: [UInt8]? = unsafe text.withUnsafeBytes { text in
            do {
                try unsafe JSONText.check(text, depthMax: Self.depthMax)
            } catch {
                return nil
            }
            return unsafe Array(JSONView(text).bytes)
        }
        guard let bytes else { return nil }
        self.bytes = bytes
    }

    private init(_ view: JSONView) {
        bytes = unsafe Array(view.bytes)
    }

    /// A JSON string with this text.
    package init(string: String) {
        var json = JSONWriter()
        json.string(string.utf8)
        bytes = json.bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value of the member with this name; of several, the last one.
    package subscript(name: String) -> JSONValue? {
        members.last { $0.name == name }?.value
    }

    package var members: [(name: String, value: JSONValue)] {
        view { view in
            view.members.map { ($0.name.string ?? "", JSONValue($0.value)) }
        }
    }

    package var elements: [JSONValue] { view { $0.elements.map { JSONValue($0) } } }

    package var string: String? { view(\.string) }

    package var integer: Int64? { view(\.integer) }

    package var boolean: Bool? { view(\.boolean) }

    /// Whether two values are equal except for the order of members and their spelling.
    package func means(_ other: JSONValue) -> Bool {
        view { one in other.view { JSONEquality.areEqual(one, $0) } }
    }

    private func view<Result>(_ body: (JSONView) -> Result) -> Result {
        unsafe bytes.withUnsafeBytes { unsafe body(JSONView($0)) }
    }

    /// In one line: line feeds are white space in JSON, and become spaces.
    package var oneLine: String {
        unsafe bytes.withUnsafeBytes { value in
            var line: [UInt8] = []
            unsafe JSONText.append(oneLine: value, to: &line)
            return String(decoding: line, as: UTF8.self)
        }
    }

    /// An object of these members.
    package init(object: [(name: String, value: JSONValue)]) {
        var json = JSONWriter()
        json.object { json in
            for member in object {
                json.member(member.name, raw: member.value.text)
            }
        }
        bytes = json.bytes
    }

    package init(array: [JSONValue]) {
        bytes = Array("[\(array.map(\.text).joined(separator: ","))]".utf8)
    }

    package init(_ number: UInt64) {
        bytes = Array(String(number).utf8)
    }

    package init(_ boolean: Bool) {
        bytes = Array((boolean ? "true" : "false").utf8)
    }

    /// A number in this spelling.
    package init(number: String) {
        bytes = Array(number.utf8)
    }
}
