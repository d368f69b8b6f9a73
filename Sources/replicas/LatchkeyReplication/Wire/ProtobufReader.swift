/// Reads a message in the wire format of Protocol Buffers, field by field.
///
/// https://protobuf.dev/programming-guides/encoding/
struct ProtobufReader {
    enum WireType: UInt8 {
        case number = 0
        case eightBytes = 1
        case bytes = 2
        case fourBytes = 5
    }

    /// Bytes that are not a message.
    struct InvalidMessage: Error, Equatable {}

    /// A field: its number and its content.
    ///
    /// `bytes` is empty for a number, and `value` is 0 for bytes.
    struct Field {
        let number: UInt32
        let value: UInt64
        let bytes: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) {
        rest = bytes
    }

    /// Calls `body` with each field, in their order.
    ///
    /// `body` ignores fields that it does not know.
    static func read(
        _ bytes: ArraySlice<UInt8>,
        _ body: (Field) throws(InvalidMessage) -> Void
    ) throws(InvalidMessage) {
        var reader = Self(bytes)
        while let field = try reader.next() {
            try body(field)
        }
    }

    /// The next field, or nil at the end.
    mutating func next() throws(InvalidMessage) -> Field? {
        guard !rest.isEmpty else { return nil }
        let tag = try varint()
        guard let number = UInt32(exactly: tag >> 3), number > 0,
            let type = WireType(rawValue: UInt8(tag & 7))
        else { throw InvalidMessage() }
        switch type {
        case .number:
            return Field(number: number, value: try varint(), bytes: [])
        case .bytes:
            let count = try varint()
            guard count <= UInt64(rest.count) else { throw InvalidMessage() }
            return Field(number: number, value: 0, bytes: take(Int(count)))
        case .fourBytes, .eightBytes:
            let count = type == .fourBytes ? 4 : 8
            guard rest.count >= count else { throw InvalidMessage() }
            return Field(number: number, value: 0, bytes: take(count))
        }
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func varint() throws(InvalidMessage) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { throw InvalidMessage() }
            let bits = UInt64(byte & 0x7F)
            guard (bits << shift) >> shift == bits else { throw InvalidMessage() }
            number |= bits << shift
            if byte < 0x80 { return number }
        }
        throw InvalidMessage()
    }
}
