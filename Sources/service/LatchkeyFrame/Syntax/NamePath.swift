internal import LatchkeyHTTP
internal import LatchkeySettings
internal import LatchkeyStore

/// The paths of properties, for clients that do not escape a slash in a name.
///
/// `/v1/properties/a/b` is no path of the service: the property `a/b` is at `/v1/properties/a%2Fb`.
struct NamePath: Sendable {
    private static let start: StaticString = "/v1/properties/"
    /// A longer path is not repeated in an answer.
    private static let byteCountMax = 1024

    /// The endings that can follow a name, with their slash, each with its method.
    private let actions: [(method: HTTPMethod, ending: String)]

    /// Takes the actions from the routes.
    init(_ routes: [Route]) {
        let pattern = "\(Self.start){name}/"
        actions = routes.filter { $0.pattern.hasPrefix(pattern) }.map { route in
            (route.method, "/" + route.pattern.dropFirst(pattern.count))
        }
    }

    /// A sentence with the right path; nil if this path, which no route has, is not that of a
    /// property but for its slashes.
    func correction(_ method: HTTPMethod, _ path: Bytes) -> String? {
        let start = Bytes(Self.start)
        guard path.count > start.count, path.range(0, start.count) == start else { return nil }
        let rest = path.range(start.count, path.count)
        guard rest.contains(UInt8(ascii: "/")) else { return nil }
        let rule = "A / in a name is written %2F"
        // As text only if it cannot be misread.
        guard path.count <= Self.byteCountMax, rest.allSatisfy(Self.isPlain) else {
            return rule + " in the path."
        }
        let text = String(decoding: rest, as: UTF8.self)
        let ending = actions.first { action in
            action.method == method && text.hasSuffix(action.ending)
                && text.utf8.count > action.ending.utf8.count
        }?.ending
        let name = text.dropLast(ending?.count ?? 0)
        let escaped = name.split(separator: "/", omittingEmptySubsequences: false)
            .joined(separator: "%2F")
        return "\(rule): \(Self.start)\(escaped)\(ending ?? "")"
    }

    /// Advice for a client that has used a method which the path does not have.
    ///
    /// `curl --json` sends a POST: the most common mistake at the path of a property.
    func advice(_ method: HTTPMethod, _ path: Bytes, _ allow: String) -> String {
        let start = Bytes(Self.start)
        guard method == .post, path.count > start.count, path.range(0, start.count) == start,
            !path.range(start.count, path.count).contains(UInt8(ascii: "/"))
        else { return "The methods of this path are \(allow)." }
        let endings = actions.filter { $0.method == method }.map { "…\($0.ending)" }
        return "POST makes nothing here: PUT creates or replaces the value (curl -X PUT). What "
            + "POST does is at \(endings.joined(separator: ", "))."
    }

    /// The name of a property as it stands in the path of a request; nil if it is another path, or
    /// a name that cannot be repeated.
    static func shownName(_ path: Bytes) -> String? {
        guard let bytes = name(path), let name = String(validating: bytes, as: UTF8.self),
            Suggestion.isPlain(name, PropertyName.byteCountMax)
        else { return nil }
        return "`\(name)`"
    }

    /// The bytes of the name in the path of a request; nil if it is another path, or too long.
    static func name(_ path: Bytes) -> [UInt8]? {
        let start = Bytes(Self.start)
        guard path.count > start.count, path.range(0, start.count) == start else { return nil }
        let rest = path.range(start.count, path.count)
        let end = rest.firstIndex(of: UInt8(ascii: "/")) ?? rest.count
        guard let bytes = try? PercentDecoding.decode(rest.range(0, end)),
            bytes.count <= PropertyName.byteCountMax
        else { return nil }
        return bytes
    }

    /// Letters, digits, and the punctuation that a path can have (RFC 3986, section 3.3).
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~!$&'()*+,;=:@%/".utf8.contains(byte)
        }
    }
}
