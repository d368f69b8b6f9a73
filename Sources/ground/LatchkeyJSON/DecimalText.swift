internal import CLatchkeySystem

/// The decimal digits of whole numbers.
package enum DecimalText {
    /// The digits of the largest number.
    static let byteCountMax = Int(LATCHKEY_SYSTEM_DECIMAL_BYTES_MAX)

    /// Appends a number, without leading zeros.
    package static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        unsafe withUnsafeTemporaryAllocation(byteCount: byteCountMax, alignment: 1) { text in
            guard let start = text.baseAddress else {
                return
            }
            let count = unsafe latchkey_system_decimal(number, start)
            unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[..<count]))
        }
    }
}
