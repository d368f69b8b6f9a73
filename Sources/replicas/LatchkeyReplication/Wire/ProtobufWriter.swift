/// Writes a message in the wire format of Protocol Buffers.
///
/// https://protobuf.dev/programming-guides/encoding/
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// A message whose fields `body` adds.
    static func message(_ body: (inout ProtobufWriter) -> Void) -> [UInt8] {
        var writer = Self()
        body(&writer)
        return writer.bytes
    }

    /// Adds a field with a number or a flag; 0 is left out, as the format's default.
    mutating func add(_ field: UInt32, _ number: UInt64) {
        guard number != 0 else { return }
        add(tag: field, .number)
        add(varint: number)
    }

    mutating func add(_ field: UInt32, _ flag: Bool) {
        add(field, UInt64(flag ? 1 : 0))
    }

    /// Adds a field with bytes or a text; empty ones are left out.
    mutating func add(_ field: UInt32, _ content: [UInt8]) {
        guard !content.isEmpty else { return }
        add(tag: field, .bytes)
        add(varint: UInt64(content.count))
        bytes += content
    }

    /// Adds a field with a message, also an empty one.
    mutating func add(_ field: UInt32, message body: (inout ProtobufWriter) -> Void) {
        let message = Self.message(body)
        add(tag: field, .bytes)
        add(varint: UInt64(message.count))
        bytes += message
    }

    private mutating func add(tag field: UInt32, _ type: ProtobufReader.WireType) {
        add(varint: UInt64(field) << 3 | UInt64(type.rawValue))
    }

    private mutating func add(varint number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }
}
