/// The decimal digits of whole numbers, eight at a time.
///
/// Every answer has revisions, and those of a store in memory have sixteen digits.
enum DecimalText {
    /// The digits of the largest number.
    static let byteCountMax = 20

    private static let eightDigits: UInt64 = 100_000_000
    private static let zeros: UInt64 = 0x3030_3030_3030_3030

    /// Appends a number, without zeros in front.
    static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: byteCountMax, alignment: 1) { text in
            guard let start = text.baseAddress else {
                return
            }
            let count = unsafe write(number, to: start)
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[..<count]))
        }
    }

    /// Writes a number, without zeros in front, where there is room for the largest one.
    ///
    /// - Returns: how many digits there are. Bytes behind them can be overwritten.
    @inline(__always)
    static func write(_ number: UInt64, to text: UnsafeMutableRawPointer) -> Int {
        guard number >= eightDigits else {
            return unsafe writeFirst(number, to: text)
        }
        let (upper, lower) = number.quotientAndRemainder(dividingBy: eightDigits)
        var count: Int
        if upper < eightDigits {
            count = unsafe writeFirst(upper, to: text)
        } else {
            let (first, middle) = upper.quotientAndRemainder(dividingBy: eightDigits)
            count = unsafe writeFirst(first, to: text)
            unsafe store(digits(middle), to: text + count)
            count += 8
        }
        unsafe store(digits(lower), to: text + count)
        return count + 8
    }

    /// Writes a number of up to eight digits, without zeros in front.
    @inline(__always)
    private static func writeFirst(_ number: UInt64, to text: UnsafeMutableRawPointer) -> Int {
        let digits = digits(number)
        // Of 0, the last digit stays.
        let leadingCount = min(digits.trailingZeroBitCount / 8, 7)
        unsafe store(digits >> (8 * leadingCount), to: text)
        return 8 - leadingCount
    }

    @inline(__always)
    private static func store(_ digits: UInt64, to text: UnsafeMutableRawPointer) {
        unsafe text.storeBytes(of: (digits | zeros).littleEndian, as: UInt64.self)
    }

    /// The eight digits of a number below 10⁸, the first one in the lowest byte.
    ///
    /// Splits it into halves of four digits, those into pairs, and the pairs into digits, each time
    /// all of them in one multiplication: n / 100 is n × 10486 / 2²⁰ below 10⁴, and n / 10 is
    /// n × 103 / 2¹⁰ below 100.
    @inline(__always)
    private static func digits(_ number: UInt64) -> UInt64 {
        let halves = number / 10_000 | (number % 10_000) << 32
        let hundreds = (halves &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let pairs = (halves &- hundreds &* 100) << 16 | hundreds
        let tens = (pairs &* 103) >> 10 & 0x000F_000F_000F_000F
        return (pairs &- tens &* 10) << 8 | tens
    }
}
