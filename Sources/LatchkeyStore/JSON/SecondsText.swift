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
        let milliseconds = (seconds * 1000).rounded()
        let range = Double(bounds.lowerBound)...Double(bounds.upperBound)
        return seconds >= 0 && range.contains(milliseconds) ? Int64(milliseconds) : nil
    }
}

extension JSONView {
    /// The number as the nearest one that a binary fraction can be.
    package var double: Double? {
        kind == .number ? Double(unsafe String(decoding: bytes, as: UTF8.self)) : nil
    }
}
