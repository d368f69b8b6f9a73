/// A message in the wire format of Protocol Buffers.
///
/// Fields that are 0 or empty are left out, as the format's third version does.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    private enum WireType: UInt64 {
        case varint = 0
        case length = 2
    }

    mutating func add(_ field: Int, _ value: some FixedWidthInteger) {
        guard value != 0 else { return }
        tag(field, .varint)
        varint(UInt64(truncatingIfNeeded: value))
    }

    /// Numbers that are packed into one field.
    mutating func add(_ field: Int, packed values: [some FixedWidthInteger]) {
        guard !values.isEmpty else { return }
        var inner = ProtobufWriter()
        for value in values {
            inner.varint(UInt64(truncatingIfNeeded: value))
        }
        add(field, inner.bytes)
    }

    /// A string, also an empty one: the element of a list.
    mutating func add(_ field: Int, element string: String) {
        add(field, Array(string.utf8))
    }

    /// A message, also an empty one.
    mutating func add(_ field: Int, _ message: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        message(&inner)
        add(field, inner.bytes)
    }

    private mutating func add(_ field: Int, _ bytes: [UInt8]) {
        tag(field, .length)
        varint(UInt64(bytes.count))
        self.bytes += bytes
    }

    private mutating func tag(_ field: Int, _ type: WireType) {
        varint(UInt64(field) << 3 | type.rawValue)
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow.
    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
