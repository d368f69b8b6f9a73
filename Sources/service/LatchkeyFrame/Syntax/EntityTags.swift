package import LatchkeyStore

/// `If-Match` and `If-None-Match` as conditions of the store (RFC 9110 sections 8.8.3 and 13.1).
///
/// A property's entity tag is its revision in quotes, a strong tag. `If-Match` compares strongly,
/// so a weak tag never matches; `If-None-Match` compares weakly.
package enum EntityTags {
    package enum Comparison {
        case strong
        case weak
    }

    /// Parses the value of a field, whose lines are joined by commas.
    ///
    /// - Throws: ``MalformedEntityTags`` for anything but `*` or a list of at least one tag.
    package static func parse(
        _ field: [UInt8],
        comparison: Comparison
    ) throws(MalformedEntityTags) -> Conditions.Tags {
        var revisions: [Revision] = []
        let isAny = try read(field, comparison) { opaque in
            if let revision = revision(of: opaque) { revisions.append(revision) }
        }
        return isAny ? .any : .oneOf(revisions)
    }

    /// Whether a field has this tag, given without its quotes, or is `*`.
    ///
    /// - Throws: As ``parse(_:comparison:)``.
    package static func names(
        _ tag: String,
        in field: [UInt8],
        comparison: Comparison
    ) throws(MalformedEntityTags) -> Bool {
        var isNamed = false
        let isAny = try read(field, comparison) { opaque in
            isNamed = isNamed || opaque.elementsEqual(tag.utf8)
        }
        return isAny || isNamed
    }

    /// Calls `take` with each tag that can match, without its quotes; returns whether the field is
    /// `*` instead.
    private static func read(
        _ field: [UInt8],
        _ comparison: Comparison,
        _ take: (ArraySlice<UInt8>) -> Void
    ) throws(MalformedEntityTags) -> Bool {
        var scanner = Scanner(rest: field[...])
        scanner.skipSpace()
        if scanner.take("*") {
            scanner.skipSpace()
            guard scanner.rest.isEmpty else {
                throw MalformedEntityTags()
            }
            return true
        }
        var isEmpty = true
        while true {
            // Empty elements are ignored: RFC 9110 section 5.6.1.2.
            repeat { scanner.skipSpace() } while scanner.take(",")
            if scanner.rest.isEmpty {
                break
            }
            let isWeak = scanner.take("W")
            if isWeak, !scanner.take("/") {
                throw MalformedEntityTags()
            }
            let opaque = try scanner.takeOpaqueTag()
            isEmpty = false
            if comparison == .weak || !isWeak { take(opaque) }
            scanner.skipSpace()
            guard scanner.rest.isEmpty || scanner.rest.first == UInt8(ascii: ",") else {
                throw MalformedEntityTags()
            }
        }
        if isEmpty {
            throw MalformedEntityTags()
        }
        return false
    }

    /// The revision of a tag: decimal digits without leading zeros, so that no two tags mean the
    /// same revision.
    private static func revision(of opaque: ArraySlice<UInt8>) -> Revision? {
        guard let first = opaque.first, first != UInt8(ascii: "0") else {
            return nil
        }
        var revision: Revision = 0
        for byte in opaque {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                return nil
            }
            let (product, isTooLarge) = revision.multipliedReportingOverflow(by: 10)
            let digit = Revision(byte - UInt8(ascii: "0"))
            let (sum, overflows) = product.addingReportingOverflow(digit)
            guard !isTooLarge, !overflows else {
                return nil
            }
            revision = sum
        }
        return revision
    }

    private struct Scanner {
        var rest: ArraySlice<UInt8>

        mutating func skipSpace() {
            while let first = rest.first, first == 0x20 || first == 0x09 {
                rest.removeFirst()
            }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else {
                return false
            }
            rest.removeFirst()
            return true
        }

        /// `DQUOTE *etagc DQUOTE`, where an etagc is any visible character but the quote, or a
        /// byte above ASCII.
        mutating func takeOpaqueTag() throws(MalformedEntityTags) -> ArraySlice<UInt8> {
            guard take("\"") else {
                throw MalformedEntityTags()
            }
            let end = rest.firstIndex { $0 <= 0x20 || $0 == 0x22 || $0 == 0x7F }
            guard let end, rest[end] == UInt8(ascii: "\"") else {
                throw MalformedEntityTags()
            }
            let opaque = rest[..<end]
            rest = rest[(end + 1)...]
            return opaque
        }
    }
}

/// A field that is not a list of entity tags.
package struct MalformedEntityTags: Error, Hashable {
    package init() {}
}
