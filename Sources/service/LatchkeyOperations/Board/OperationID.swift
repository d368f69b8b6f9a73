/// The identifier of an operation: 1 to 64 ASCII letters, digits, dots, hyphens and underscores.
///
/// Neither `.` nor `..`, which clients remove from a path.
package struct OperationID: Hashable, Sendable {
    package static let countMax = 64

    package let text: String

    /// Checks a text that a client chose; nil if it is not an identifier.
    package init?(_ text: String) {
        guard (1...Self.countMax).contains(text.utf8.count),
            text.utf8.allSatisfy(Self.isAllowed), text != ".", text != ".."
        else { return nil }
        self.text = text
    }

    /// Makes an identifier from a random number, for an operation whose client chose none.
    init(random number: UInt64) {
        let digits = String(number, radix: 16)
        text = String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
