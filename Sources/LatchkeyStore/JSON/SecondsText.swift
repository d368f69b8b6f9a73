/// Times as seconds, such as `0.25`.
package enum SecondsText {
    /// Parses digits, maybe with a point, rounded to milliseconds; nil for anything else and out
    /// of bounds.
    package static func milliseconds(_ text: String, in bounds: ClosedRange<Int64>) -> Int64? {
        let isPlain = text.utf8.allSatisfy {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: ".")
        }
        return isPlain ? Double(text).flatMap { milliseconds($0, in: bounds) } : nil
    }

    /// The same of a JSON number.
    package static func milliseconds(_ json: JSONView, in bounds: ClosedRange<Int64>) -> Int64? {
        json.double.flatMap { milliseconds($0, in: bounds) }
    }

    private static func milliseconds(_ seconds: Double, in bounds: ClosedRange<Int64>) -> Int64? {
        // Before rounding: what is a little less than the least is less.
        let range = Double(bounds.lowerBound) / 1000...Double(bounds.upperBound) / 1000
        return range.contains(seconds) ? Int64((seconds * 1000).rounded()) : nil
    }
}

extension JSONView {
    /// The number as the nearest one that a binary fraction can be.
    package var double: Double? {
        kind == .number ? Double(unsafe String(decoding: bytes, as: UTF8.self)) : nil
    }
}
