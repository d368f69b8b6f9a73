/// JSON integers of 64 bits: what `increment` counts with.
package enum JSONInteger {
    /// The integer that a valid JSON text is, or nil if it is anything else.
    ///
    /// A number with a fraction or an exponent is none, even if its value is whole: it would not
    /// come back as it was written.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        let number = unsafe JSONView(text).bytes
        let isInteger = unsafe number.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-")
        }
        return unsafe isInteger ? JSONDecimal(number).integer(timesTenTo: 0) : nil
    }

    /// Runs the body with the integer's digits.
    static func withBytes<Result>(
        of number: Int64,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var text = String(number)
        return text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }
}
