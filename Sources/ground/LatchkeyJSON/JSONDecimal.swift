/// The exact value of a JSON number, without binary fractions and without a copy.
///
/// It is `0.DIGITS` times a power of ten, whose digits begin and end with one that is not 0. The
/// exponent may have any number of digits: memory and time depend on the length of the text, not on
/// the number.
///
/// SAFETY: `@safe` because it reads what the view of the number may read.
@safe
struct JSONDecimal {
    private let text: UnsafeRawBufferPointer
    private let isNegative: Bool
    /// The digits from the first to the last that is not 0; the point may be between them.
    private let digits: Range<Int>
    private let digitCount: Int
    /// The power of ten, to which the exponent is added.
    private let power: Int
    /// The digits of the exponent, without zeros at its start.
    private let exponent: Range<Int>
    private let exponentIsNegative: Bool

    private var isZero: Bool { digits.isEmpty }

    /// Reads a number of a valid JSON text.
    init(_ number: UnsafeRawBufferPointer) {
        unsafe text = number
        isNegative = unsafe number[0] == UInt8(ascii: "-")
        let start = isNegative ? 1 : 0
        var point: Int?
        var mantissaEnd = start
        var first: Int?
        var last = start
        while mantissaEnd < number.count {
            let byte = unsafe number[mantissaEnd]
            if byte == UInt8(ascii: ".") {
                point = mantissaEnd
            } else if byte | 0x20 == UInt8(ascii: "e") {
                break
            } else if byte != UInt8(ascii: "0") {
                first = first ?? mantissaEnd
                last = mantissaEnd
            }
            mantissaEnd += 1
        }
        let whole = point ?? mantissaEnd
        if let first {
            digits = first..<(last + 1)
            digitCount = digits.count - (digits.contains(whole) ? 1 : 0)
            // Zeros after the point lower the power.
            power = first < whole ? whole - first : whole + 1 - first
        } else {
            digits = 0..<0
            digitCount = 0
            power = 0
        }
        var index = min(mantissaEnd + 1, number.count)
        var isBelow = false
        if index < number.count {
            let sign = unsafe number[index]
            isBelow = sign == UInt8(ascii: "-")
            index += isBelow || sign == UInt8(ascii: "+") ? 1 : 0
        }
        while index < number.count, unsafe number[index] == UInt8(ascii: "0") {
            index += 1
        }
        exponent = index..<number.count
        exponentIsNegative = isBelow
    }

    /// Whether two numbers have the same value.
    ///
    /// 0 and -0 do.
    static func areEqual(_ one: JSONDecimal, _ other: JSONDecimal) -> Bool {
        guard !one.isZero, !other.isZero else {
            return one.isZero && other.isZero
        }
        return one.isNegative == other.isNegative && one.digitCount == other.digitCount
            && exponentDifference(one, other) == other.power - one.power
            && haveEqualDigits(one, other)
    }

    /// Whether a number is less than another one.
    static func precedes(_ one: JSONDecimal, _ other: JSONDecimal) -> Bool {
        guard one.sign == other.sign else {
            return one.sign < other.sign
        }
        guard one.sign != 0 else {
            return false
        }
        // Both are negative or both positive: the magnitudes decide.
        let (small, large) = one.isNegative ? (other, one) : (one, other)
        return magnitudePrecedes(small, large)
    }

    /// -1, 0, or 1.
    private var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

    private static func magnitudePrecedes(_ one: JSONDecimal, _ other: JSONDecimal) -> Bool {
        guard let difference = exponentDifference(one, other) else {
            return exponentPrecedes(one, other)
        }
        let excess = difference + one.power - other.power
        guard excess == 0 else {
            return excess < 0
        }
        var index = one.digits.lowerBound
        var otherIndex = other.digits.lowerBound
        for _ in 0..<min(one.digitCount, other.digitCount) {
            index += one.isPoint(index) ? 1 : 0
            otherIndex += other.isPoint(otherIndex) ? 1 : 0
            let (digit, otherDigit) = (one.digitValue(index), other.digitValue(otherIndex))
            guard digit == otherDigit else {
                return digit < otherDigit
            }
            index += 1
            otherIndex += 1
        }
        return one.digitCount < other.digitCount
    }

    /// Whether an exponent is less than one that differs widely.
    private static func exponentPrecedes(_ one: JSONDecimal, _ other: JSONDecimal) -> Bool {
        for place in (0..<max(one.exponent.count, other.exponent.count)).reversed() {
            let (digit, otherDigit) = (one.exponentDigit(place), other.exponentDigit(place))
            guard digit == otherDigit else {
                return digit < otherDigit
            }
        }
        return false
    }

    /// The number times a power of ten, if that is whole and has at most 64 bits.
    func integer(timesTenTo shift: Int) -> Int64? {
        guard !isZero else {
            return 0
        }
        // No integer of 64 bits has more than 19 digits; one with a fraction has too few.
        guard let exponent = smallExponent, case let length = power + exponent + shift,
            length >= digitCount, length <= 19
        else {
            return nil
        }
        var integer = IntegerDigits()
        var index = digits.lowerBound
        for _ in 0..<length {
            var digit: Int64 = 0
            if index < digits.upperBound {
                index += isPoint(index) ? 1 : 0
                digit = digitValue(index)
                index += 1
            }
            guard integer.append(digit) else {
                return nil
            }
        }
        return integer.value(isNegative: isNegative)
    }

    private func isPoint(_ index: Int) -> Bool {
        unsafe text[index] == UInt8(ascii: ".")
    }

    private func digitValue(_ index: Int) -> Int64 {
        Int64(unsafe text[index] & 0x0F)
    }

    /// The exponent, if it has at most 17 digits.
    private var smallExponent: Int? {
        guard exponent.count <= 17 else {
            return nil
        }
        var sum = 0
        for index in exponent {
            sum = sum * 10 + Int(digitValue(index))
        }
        return exponentIsNegative ? -sum : sum
    }

    /// The difference of the exponents, or nil if it is larger than texts can be long.
    ///
    /// The exponents are subtracted digit by digit from the highest on. A difference above the
    /// limit cannot become smaller: each further digit multiplies it by ten and changes it by at
    /// most 18.
    private static func exponentDifference(_ one: JSONDecimal, _ other: JSONDecimal) -> Int? {
        let bound = 100_000_000_000_000_000
        var difference = 0
        for place in (0..<max(one.exponent.count, other.exponent.count)).reversed() {
            difference = difference * 10 + one.exponentDigit(place) - other.exponentDigit(place)
            guard abs(difference) < bound else {
                return nil
            }
        }
        return difference
    }

    /// The exponent's digit at a place, counted from the last one, with the exponent's sign.
    private func exponentDigit(_ place: Int) -> Int {
        guard place < exponent.count else {
            return 0
        }
        let digit = Int(digitValue(exponent.upperBound - 1 - place))
        return exponentIsNegative ? -digit : digit
    }

    private static func haveEqualDigits(_ one: JSONDecimal, _ other: JSONDecimal) -> Bool {
        var index = one.digits.lowerBound
        var otherIndex = other.digits.lowerBound
        for _ in 0..<one.digitCount {
            index += one.isPoint(index) ? 1 : 0
            otherIndex += other.isPoint(otherIndex) ? 1 : 0
            guard one.digitValue(index) == other.digitValue(otherIndex) else {
                return false
            }
            index += 1
            otherIndex += 1
        }
        return true
    }
}

/// The decimal digits of an integer, from the first on.
private struct IntegerDigits {
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
