/// Writes JSON text into bytes.
///
/// It can insert stored values as the bytes that were sent, which an encoder cannot.
///
/// SAFETY: `@safe` because it reads no value that it refers to, and keeps the owner of each.
@safe
package struct JSONWriter {
    /// Longer values are referred to, not copied.
    package static let copiedByteCountMax = 1024

    @usableFromInline
    package internal(set) var bytes: [UInt8] = []
    /// Long values that are not copied: where in ``bytes`` each of them belongs, in order, and its
    /// owner.
    package private(set) var references = unsafe [Reference]()
    @usableFromInline var needsComma = false
    private let refersToValues: Bool

    package typealias Reference = (offset: Int, value: UnsafeRawBufferPointer, owner: AnyObject)

    /// - Parameter refersToValues: Whether long values that have an owner become ``references``.
    package init(refersToValues: Bool = false) {
        self.refersToValues = refersToValues
    }

    /// Makes room, so that the bytes are not moved while they grow.
    package mutating func reserve(_ byteCount: Int) {
        bytes.reserveCapacity(bytes.count + byteCount)
    }

    package mutating func object(_ members: (inout JSONWriter) -> Void) {
        begin("{")
        members(&self)
        end("}")
    }

    package mutating func array(_ elements: (inout JSONWriter) -> Void) {
        begin("[")
        elements(&self)
        end("]")
    }

    package mutating func member(_ name: String, _ value: some JSONWritable) {
        key(name)
        value.write(to: &self)
    }

    package mutating func object(_ name: String, _ members: (inout JSONWriter) -> Void) {
        key(name)
        object(members)
    }

    package mutating func array(_ name: String, _ elements: (inout JSONWriter) -> Void) {
        key(name)
        array(elements)
    }

    /// Writes a member whose value is already JSON.
    package mutating func member(_ name: String, rawJSON value: UnsafeRawBufferPointer) {
        key(name)
        unsafe bytes.append(contentsOf: value)
        needsComma = true
    }

    /// Writes a member whose value is already JSON, which its owner keeps.
    package mutating func member(
        _ name: String,
        rawJSON value: UnsafeRawBufferPointer,
        of owner: AnyObject
    ) {
        guard refersToValues, value.count > Self.copiedByteCountMax else {
            unsafe member(name, rawJSON: value)
            return
        }
        key(name)
        unsafe references.append((bytes.count, value, owner))
        needsComma = true
    }

    /// Writes a member whose value is already JSON.
    package mutating func member(_ name: String, raw value: String) {
        key(name)
        bytes.append(contentsOf: value.utf8)
        needsComma = true
    }

    /// Writes a member whose value is a string in valid UTF-8.
    package mutating func member(_ name: String, utf8 value: UnsafeRawBufferPointer) {
        key(name)
        unsafe string(value)
    }

    /// Writes short parts in one piece: each append would check whether the bytes are shared, and
    /// whether they have room.
    ///
    /// These are one or more members of an object, with commas between them, or one or more values.
    @inlinable
    package mutating func members(_ write: (inout JSONPiece) -> Void) {
        separate()
        unsafe withUnsafeTemporaryAllocation(byteCount: JSONPiece.byteCountMax, alignment: 1) {
            var piece = unsafe JSONPiece($0)
            write(&piece)
            unsafe bytes.append(contentsOf: piece.written)
        }
        needsComma = true
    }

    /// The same for parts that end with the bracket that opens a container.
    @inlinable
    package mutating func opening(_ write: (inout JSONPiece) -> Void) {
        members(write)
        needsComma = false
    }

    /// Whether a piece has room for the string.
    package static func fitsIntoPiece(_ text: UnsafeRawBufferPointer) -> Bool {
        unsafe text.count <= JSONPiece.stringByteCountMax
            && !text.contains(where: JSONText.isEscaped)
    }

    package mutating func integer(_ value: UInt64) {
        number(value, isNegative: false)
    }

    package mutating func integer(_ value: Int) {
        number(UInt64(value.magnitude), isNegative: value < 0)
    }

    private mutating func number(_ magnitude: UInt64, isNegative: Bool) {
        separate()
        if isNegative {
            bytes.append(UInt8(ascii: "-"))
        }
        DecimalText.append(magnitude, to: &bytes)
        needsComma = true
    }

    package mutating func bool(_ value: Bool) {
        separate()
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
        needsComma = true
    }

    /// Writes a string, with quotes, backslashes and control characters escaped.
    package mutating func string(_ text: some Sequence<UInt8>) {
        let isWritten: Void? = text.withContiguousStorageIfAvailable { bytes in
            unsafe string(UnsafeRawBufferPointer(bytes))
        }
        if isWritten == nil {
            string(Array(text))
        }
    }

    /// Writes a string that is these bytes of UTF-8.
    package mutating func string(_ text: UnsafeRawBufferPointer) {
        separate()
        unsafe JSONText.append(string: text, to: &bytes)
        needsComma = true
    }

    private mutating func key(_ name: String) {
        string(name.utf8)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func begin(_ bracket: Unicode.Scalar) {
        separate()
        bytes.append(UInt8(ascii: bracket))
        needsComma = false
    }

    package mutating func end(_ brackets: StaticString) {
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(brackets))
        needsComma = true
    }

    @inlinable
    mutating func separate() {
        if needsComma {
            bytes.append(UInt8(ascii: ","))
        }
    }
}

/// A value that ``JSONWriter`` can write.
package protocol JSONWritable {
    func write(to json: inout JSONWriter)
}

extension String: JSONWritable {
    package func write(to json: inout JSONWriter) { json.string(utf8) }
}

extension Int: JSONWritable {
    package func write(to json: inout JSONWriter) { json.integer(self) }
}

extension UInt64: JSONWritable {
    package func write(to json: inout JSONWriter) { json.integer(self) }
}

extension Bool: JSONWritable {
    package func write(to json: inout JSONWriter) { json.bool(self) }
}
