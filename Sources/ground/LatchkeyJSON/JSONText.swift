/// Checks that bytes are one JSON text (RFC 8259).
///
/// It builds no values: the store keeps the bytes that were sent. No function recurses, and
/// nothing is allocated up to a depth of 64.
package enum JSONText {
    /// Checks a text whose arrays and objects may nest this deep.
    ///
    /// A scalar has depth 0.
    package static func check(
        _ text: UnsafeRawBufferPointer,
        depthMax: Int
    ) throws(InvalidJSON) {
        guard let start = text.baseAddress else { throw .malformed(offset: 0) }
        let reader = unsafe JSONReader(start: start, count: text.count)
        do throws(InvalidJSON) {
            guard try reader.hasOtherThanASCII(depthMax: depthMax) else {
                return
            }
        } catch {
            try unsafe checkUTF8(text)
            throw error
        }
        try unsafe checkUTF8(text)
    }

    private static func checkUTF8(_ text: UnsafeRawBufferPointer) throws(InvalidJSON) {
        do {
            _ = try unsafe UTF8Span(validating: text.bindMemory(to: UInt8.self).span)
        } catch {
            throw .notUTF8(offset: error.byteOffsets.lowerBound)
        }
    }
}

/// Why bytes are not a JSON text that the store takes.
package enum InvalidJSON: Error, Hashable {
    /// Not JSON, or something follows it; `offset` bytes had been read when that was clear.
    case malformed(offset: Int)
    /// Not UTF-8 from this byte on.
    case notUTF8(offset: Int)
    case tooDeep
}

/// Passes over the parts of a text that begin at an index, and returns the index after them.
///
/// SAFETY: `@safe` because every access is below `count`, and the maker keeps the text in place.
@safe
private struct JSONReader {
    let start: UnsafeRawPointer
    let count: Int

    /// The byte at an index; 0 at the end, which is in no valid text.
    @inline(__always)
    private func byte(_ index: Int) -> UInt8 {
        index < count ? unsafe start.load(fromByteOffset: index, as: UInt8.self) : 0
    }

    @inline(__always)
    private func space(_ start: Int) -> Int {
        var index = start
        while case let byte = byte(index), byte <= 0x20, JSONScan.isWhitespace(byte) {
            index += 1
        }
        return index
    }

    private func malformed(_ index: Int) -> InvalidJSON {
        .malformed(offset: min(count, index + 1))
    }

    /// Whether strings of the text may have characters that are not ASCII: then these are still to
    /// be checked.
    func hasOtherThanASCII(depthMax: Int) throws(InvalidJSON) -> Bool {
        var containers = Containers(depthMax: depthMax)
        var bits: UInt64 = 0
        var index = space(0)
        value: while true {
            switch byte(index) {
            case UInt8(ascii: "{"):
                try containers.open(isObject: true)
                index = space(index + 1)
                guard byte(index) == UInt8(ascii: "}") else {
                    index = try name(index, &bits)
                    continue
                }
            case UInt8(ascii: "["):
                try containers.open(isObject: false)
                index = space(index + 1)
                guard byte(index) == UInt8(ascii: "]") else { continue }
            case UInt8(ascii: "\""):
                index = try string(index, &bits)
            case UInt8(ascii: "t"):
                index = try word("true", index)
            case UInt8(ascii: "f"):
                index = try word("false", index)
            case UInt8(ascii: "n"):
                index = try word("null", index)
            default:
                index = try number(index)
            }
            while true {
                index = space(index)
                guard containers.depth > 0 else { break value }
                guard byte(index) != UInt8(ascii: ",") else { break }
                guard byte(index) == (containers.isInObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                else { throw malformed(index) }
                containers.close()
                index += 1
            }
            index = space(index + 1)
            if containers.isInObject {
                index = try name(index, &bits)
            }
        }
        guard index == count else { throw malformed(index) }
        return bits & JSONScan.highestBits != 0
    }

    /// The name of a member, the colon, and the space around it.
    private func name(_ start: Int, _ bits: inout UInt64) throws(InvalidJSON) -> Int {
        guard byte(start) == UInt8(ascii: "\"") else { throw malformed(start) }
        let index = space(try string(start, &bits))
        guard byte(index) == UInt8(ascii: ":") else { throw malformed(index) }
        return space(index + 1)
    }

    private func word(_ word: StaticString, _ start: Int) throws(InvalidJSON) -> Int {
        let letters = unsafe UnsafeRawBufferPointer(word)
        for offset in letters.indices where unsafe byte(start + offset) != letters[offset] {
            throw malformed(start + offset)
        }
        return start + letters.count
    }

    @inline(__always)
    private func digits(_ start: Int) throws(InvalidJSON) -> Int {
        var index = start
        while byte(index) &- UInt8(ascii: "0") < 10 {
            index += 1
        }
        guard index > start else { throw malformed(index) }
        return index
    }

    private func number(_ start: Int) throws(InvalidJSON) -> Int {
        var index = byte(start) == UInt8(ascii: "-") ? start + 1 : start
        index = byte(index) == UInt8(ascii: "0") ? index + 1 : try digits(index)
        if byte(index) == UInt8(ascii: ".") {
            index = try digits(index + 1)
        }
        if byte(index) | 0x20 == UInt8(ascii: "e") {
            index += 1
            let hasSign = byte(index) == UInt8(ascii: "+") || byte(index) == UInt8(ascii: "-")
            index = try digits(hasSign ? index + 1 : index)
        }
        return index
    }

    /// Eight bytes at a time: long strings are most of what a reader passes over.
    ///
    /// `bits` gets the bits of all its bytes, and maybe of some after it.
    private func string(_ start: Int, _ bits: inout UInt64) throws(InvalidJSON) -> Int {
        var index = start + 1
        while true {
            let word = word(index)
            bits |= word
            let found = JSONScan.stringEndsAndControls(word)
            guard found != 0 else {
                index = plain(index + 8, &bits)
                continue
            }
            index += found.trailingZeroBitCount / 8
            switch byte(index) {
            case UInt8(ascii: "\""): return index + 1
            case UInt8(ascii: "\\"): index = try escape(index + 1)
            default: throw malformed(index)
            }
        }
    }

    /// Pairs of words of a string that stand for themselves.
    ///
    /// Not inlined, so that the loop keeps its masks in registers.
    @inline(never)
    private func plain(_ start: Int, _ bits: inout UInt64) -> Int {
        var index = start
        var seen = bits
        while index <= count - 16 {
            let (one, other) = (load(index), load(index + 8))
            let found = JSONScan.stringEndsAndControls(one) | JSONScan.stringEndsAndControls(other)
            guard found == 0 else { break }
            seen |= one | other
            index += 16
        }
        bits = seen
        return index
    }

    @inline(__always)
    private func load(_ index: Int) -> UInt64 {
        UInt64(littleEndian: unsafe start.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }

    /// Eight bytes; zeros after the end.
    private func word(_ index: Int) -> UInt64 {
        index <= count - 8
            ? load(index)
            : (index..<count).reversed().reduce(0) { $0 << 8 | UInt64(byte($1)) }
    }

    private func escape(_ start: Int) throws(InvalidJSON) -> Int {
        switch byte(start) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return start + 1
        case UInt8(ascii: "u"):
            for index in (start + 1)...(start + 4) {
                switch byte(index) {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                    UInt8(ascii: "A")...UInt8(ascii: "F"):
                    break
                default: throw malformed(index)
                }
            }
            return start + 5
        default:
            throw malformed(start)
        }
    }
}

/// The arrays and objects that are open.
private struct Containers {
    let depthMax: Int
    private(set) var depth = 0
    /// A bit for each of the innermost, the last one lowest: set for an object.
    private var objects: UInt64 = 0
    /// The bits of those outside, 64 in each word.
    private var outer: [UInt64] = []

    init(depthMax: Int) {
        self.depthMax = depthMax
    }

    var isInObject: Bool { objects & 1 == 1 }

    @inline(__always)
    mutating func open(isObject: Bool) throws(InvalidJSON) {
        guard depth < depthMax else { throw .tooDeep }
        if depth % UInt64.bitWidth == 0, depth > 0 {
            outer.append(objects)
        }
        depth += 1
        objects = objects << 1 | (isObject ? 1 : 0)
    }

    @inline(__always)
    mutating func close() {
        depth -= 1
        objects >>= 1
        if depth % UInt64.bitWidth == 0, depth > 0 {
            objects = outer.removeLast()
        }
    }
}
