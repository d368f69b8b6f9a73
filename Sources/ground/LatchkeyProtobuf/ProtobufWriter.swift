/// Writes a message in the wire format of Protocol Buffers.
///
/// https://protobuf.dev/programming-guides/encoding/
package struct ProtobufWriter {
    package private(set) var bytes: [UInt8] = []

    private enum WireType: UInt64 {
        case number = 0
        case bytes = 2
    }

    package init() {}

    /// A message whose fields `body` adds.
    package static func message(_ body: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = Self()
        body(&writer)
        return writer.bytes
    }

    /// Adds a field with a number; 0 is left out, as the format's default.
    package mutating func add(_ field: Int, _ number: some FixedWidthInteger) {
        guard number != 0 else { return }
        add(tag: field, .number)
        add(varint: number)
    }

    package mutating func add(_ field: Int, _ flag: Bool) {
        add(field, flag ? 1 : 0)
    }

    /// Adds a field with bytes or a text; empty ones are left out.
    package mutating func add(_ field: Int, _ content: [UInt8]) {
        if !content.isEmpty { add(field, element: content) }
    }

    /// Adds bytes or a text, also an empty one: the element of a list.
    package mutating func add(_ field: Int, element content: [UInt8]) {
        add(tag: field, .bytes)
        add(varint: content.count)
        bytes += content
    }

    /// Adds a field with a message, also an empty one.
    package mutating func add(_ field: Int, message body: (inout ProtobufWriter) -> Void) {
        add(field, element: Self.message(body))
    }

    /// Adds a field with numbers that are packed into it.
    package mutating func add(_ field: Int, packed numbers: [some FixedWidthInteger]) {
        add(field, Self.message { for number in numbers { $0.add(varint: number) } })
    }

    private mutating func add(tag field: Int, _ type: WireType) {
        add(varint: UInt64(field) << 3 | type.rawValue)
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow.
    private mutating func add(varint number: some FixedWidthInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
