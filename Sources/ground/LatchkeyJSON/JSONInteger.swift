/// JSON integers of 64 bits, as `increment` uses them.
package enum JSONInteger {
    /// 19 digits and a sign.
    private static let byteCountMax = 20

    /// The integer of a valid JSON text, or nil if it is anything else.
    ///
    /// A number with a fraction or an exponent is not an integer here, even if its value is whole:
    /// its spelling would change.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        guard unsafe !isTooLong(text) else {
            return nil
        }
        let number = unsafe JSONView(text).bytes
        let isInteger = unsafe number.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
        }
        return unsafe isInteger ? JSONDecimal(number).integer(timesTenTo: 0) : nil
    }

    /// Whether a valid JSON text has too many bytes, whatever they are: it begins with no zeros.
    ///
    /// One with white space around it is not looked at.
    package static func isTooLong(_ text: UnsafeRawBufferPointer) -> Bool {
        guard text.count > byteCountMax else { return false }
        return unsafe !JSONScan.isWhitespace(text[0])
            && !JSONScan.isWhitespace(text[text.count - 1])
    }

    /// Runs the body with the integer's digits.
    @inlinable
    package static func withBytes<Result>(
        of number: Int64,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var text = String(number)
        return text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}
