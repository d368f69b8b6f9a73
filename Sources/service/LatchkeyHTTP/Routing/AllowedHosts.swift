/// The hosts that requests may be for.
///
/// By DNS rebinding, a page of another site can make a browser connect here under that site's name,
/// and then has the same origin. Its requests carry that name. So names are served only if no other
/// party can own them.
///
/// **Design.** A request is checked byte by byte, in place. A port, a dot at the end and the case
/// of letters do not count.
package struct AllowedHosts: Sendable {
    private static let localhost = Array("localhost".utf8)
    private static let loopback = Bytes("127.")
    private static let loopback6 = Bytes("[::1]")

    /// Lower-case, without a dot at the end.
    private let names: [[UInt8]]
    private let servesAllAddresses: Bool

    /// - Parameters:
    ///   - names: names that are served besides local names and addresses.
    ///   - servesAllAddresses: whether all literal addresses are served, or only those of loopback.
    package init(_ names: [String] = [], servesAllAddresses: Bool = false) {
        self.servesAllAddresses = servesAllAddresses
        self.names = names.map { Array(Self.withoutDot($0.lowercased()).utf8) }
    }

    private static func withoutDot(_ name: String) -> Substring {
        name.dropLast(name.hasSuffix(".") ? 1 : 0)
    }

    /// Whether a request for this host and port is served.
    package func contain(_ authority: Bytes) -> Bool {
        var count = authority.count
        guard count > 0 else { return false }
        if authority[0] == UInt8(ascii: "[") {
            return (servesAllAddresses || Self.begins(authority, with: Self.loopback6))
                && Self.isBracketed(authority)
        }
        var isAddress = true
        for index in 0..<count {
            let byte = authority[index]
            if byte == UInt8(ascii: ":") {
                guard Self.isPort(authority, from: index + 1) else { return false }
                count = index
                break
            }
            isAddress = isAddress && (Self.isDigit(byte) || byte == UInt8(ascii: "."))
        }
        if count > 0, authority[count - 1] == UInt8(ascii: ".") { count -= 1 }
        guard count > 0 else { return false }
        // No name in DNS consists of digits and dots: browsers take that for an address.
        let isServedAddress =
            isAddress && (servesAllAddresses || Self.begins(authority, with: Self.loopback))
        return isServedAddress || isLocal(authority, count) || isNamed(authority, count)
    }

    private static func begins(_ authority: Bytes, with prefix: Bytes) -> Bool {
        authority.count >= prefix.count && authority.range(0, prefix.count) == prefix
    }

    /// `localhost`, and names that end in `.localhost` (RFC 6761, section 6.3).
    private func isLocal(_ authority: Bytes, _ count: Int) -> Bool {
        let start = count - Self.localhost.count
        guard start == 0 || (start > 0 && authority[start - 1] == UInt8(ascii: ".")) else {
            return false
        }
        return Self.ends(authority, count, with: Self.localhost)
    }

    private func isNamed(_ authority: Bytes, _ count: Int) -> Bool {
        for name in names where name.count == count && Self.ends(authority, count, with: name) {
            return true
        }
        return false
    }

    private static func ends(_ authority: Bytes, _ count: Int, with name: [UInt8]) -> Bool {
        let start = count - name.count
        for index in name.indices {
            let byte = authority[start + index]
            let isLetter = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            guard name[index] == (isLetter ? byte | 0x20 : byte) else { return false }
        }
        return true
    }

    /// An IPv6 address in brackets, which no name has.
    private static func isBracketed(_ authority: Bytes) -> Bool {
        guard let end = authority.firstIndex(of: UInt8(ascii: "]")) else { return false }
        let rest = end + 1
        return rest == authority.count
            || (authority[rest] == UInt8(ascii: ":") && isPort(authority, from: rest + 1))
    }

    private static func isPort(_ authority: Bytes, from start: Int) -> Bool {
        for index in start..<authority.count where !isDigit(authority[index]) {
            return false
        }
        return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }
}
