/// A pattern of names, such as `jobs/*/state`: a `*` stands for any bytes but `/`.
///
/// Each part between slashes has at most one `*`, so that a match is one look at each byte,
/// whatever a client chooses.
package struct NamePattern: Hashable, Sendable {
    /// The begin and the end of a part of a name; without a `*`, the whole part and nil.
    private struct Segment: Hashable {
        let start: [UInt8]
        let end: [UInt8]?

        func matches(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
            guard let end else { return unsafe text.elementsEqual(start) }
            return unsafe text.count >= start.count + end.count
                && text.starts(with: start) && text.suffix(end.count).elementsEqual(end)
        }
    }

    package let text: String
    private let segments: [Segment]
    /// The common prefix of all matching names.
    package let prefix: [UInt8]

    private static let star = UInt8(ascii: "*")
    private static let slash = UInt8(ascii: "/")

    /// Nil for a pattern with two `*` in one part, or without a `*`.
    package init?(_ text: [UInt8]) {
        guard let first = text.firstIndex(of: Self.star) else { return nil }
        prefix = Array(text[..<first])
        self.text = String(decoding: text, as: UTF8.self)
        var segments: [Segment] = []
        for part in text.split(separator: Self.slash, omittingEmptySubsequences: false) {
            let pieces = part.split(separator: Self.star, omittingEmptySubsequences: false)
            guard pieces.count <= 2 else { return nil }
            segments.append(
                Segment(
                    start: Array(pieces[0]),
                    end: pieces.count > 1 ? Array(pieces[1]) : nil
                )
            )
        }
        self.segments = segments
    }

    package func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        var rest = unsafe name[...]
        for (index, segment) in segments.enumerated() {
            let end = unsafe rest.firstIndex(of: Self.slash)
            let isLast = index == segments.count - 1
            guard (end == nil) == isLast,
                unsafe segment.matches(rest[..<(end ?? rest.endIndex)])
            else { return false }
            if let end { unsafe rest = rest[(end + 1)...] }
        }
        return true
    }
}
