/// JSON integers of 64 bits: what `increment` counts with.
package enum JSONInteger {
    /// The integer that a valid JSON text is, or nil if it is anything else.
    ///
    /// A number with a fraction or an exponent is none, even if its value is whole: it would not
    /// come back as it was written.
    package static func parse(_ text: UnsafeRawBufferPointer) -> Int64? {
        var digits = unsafe text[...]
        while let last = unsafe digits.last, isWhitespace(last) {
            unsafe digits.removeLast()
        }
        while let first = unsafe digits.first, isWhitespace(first) {
            unsafe digits.removeFirst()
        }
        let isNegative = unsafe digits.first == UInt8(ascii: "-")
        if isNegative {
            unsafe digits.removeFirst()
        }
        guard unsafe !digits.isEmpty else {
            return nil
        }
        var integer = IntegerDigits()
        for index in unsafe digits.indices {
            let byte = unsafe digits[index]
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                return nil
            }
            guard integer.append(Int64(byte - UInt8(ascii: "0"))) else {
                return nil
            }
        }
        return integer.value(isNegative: isNegative)
    }

    /// Runs the body with the integer's digits.
    static func withBytes<Result>(
        of number: Int64,
        _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        var text = String(number)
        return text.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
    }

    private static func isWhitespace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
    }
}

/// The decimal digits of an integer, from the first on.
struct IntegerDigits {
    /// Counted downwards, because the least integer has no positive counterpart.
    private var number: Int64 = 0

    /// Adds a digit; false if the number has more than 64 bits then.
    mutating func append(_ digit: Int64) -> Bool {
        let (product, isTooLarge) = number.multipliedReportingOverflow(by: 10)
        let (next, overflows) = product.subtractingReportingOverflow(digit)
        number = next
        return !isTooLarge && !overflows
    }

    /// The integer, if it has at most 64 bits.
    func value(isNegative: Bool) -> Int64? {
        if isNegative {
            return number
        }
        return number == .min ? nil : -number
    }
}
