/// The compact binary form of a change, for a journal or a log that replicas share.
///
/// | Part | Bytes |
/// |---|---|
/// | version | 1, the number 1 |
/// | number of steps | varint |
/// | for each step: action | 1: `check` 0, `put` 1, `delete` 2, `increment` 3 |
/// | conditions | 1: `If-Match` in bits 0 and 1, `If-None-Match` from bit 2 |
/// | name | length as varint, bytes |
/// | each list | number as varint, revisions as varints |
/// | value of a put | length as varint, bytes |
/// | addend of an increment | varint, zigzag |
///
/// Conditions are 0 for none, 1 for any, 2 for a list of revisions.
///
/// A varint has seven bits of the number in each byte, the low ones first, and the eighth bit set
/// in all but the last byte.
extension Change {
    /// How many steps a change can have.
    package static let stepCountMax = 128

    private static let version: UInt8 = 1

    /// The change in its binary form.
    package func encoded() -> [UInt8] {
        var writer = BinaryWriter(bytes: [Self.version])
        writer.add(UInt64(1 + others.count))
        for step in steps {
            step.encode(to: &writer)
        }
        return writer.bytes
    }

    /// Reads a change from its binary form.
    ///
    /// It owns its memory. Whether values are JSON texts is not checked again.
    package init(decoding bytes: [UInt8]) throws(InvalidChange) {
        var reader = BinaryReader(OwnedBytes(bytes))
        guard try reader.byte() == Self.version else {
            throw InvalidChange()
        }
        let count = try reader.number()
        guard (1...UInt64(Self.stepCountMax)).contains(count) else {
            throw InvalidChange()
        }
        let first = try Step(decoding: &reader)
        var others: [Step] = []
        for _ in 1..<count {
            others.append(try Step(decoding: &reader))
        }
        guard reader.isAtEnd else {
            throw InvalidChange()
        }
        self.init(first, others)
    }
}

/// Bytes that are not the binary form of a change.
package struct InvalidChange: Error, Hashable {}

extension Change.Step {
    fileprivate func encode(to writer: inout BinaryWriter) {
        let code: UInt8 =
            switch action {
            case .check: 0
            case .put: 1
            case .delete: 2
            case .increment: 3
            }
        writer.bytes.append(code)
        writer.bytes.append(
            Conditions.code(conditions.ifMatch) | Conditions.code(conditions.ifNoneMatch) << 2
        )
        unsafe writer.add(name.bytes)
        for case .oneOf(let revisions) in [conditions.ifMatch, conditions.ifNoneMatch] {
            writer.add(UInt64(revisions.count))
            for revision in revisions {
                writer.add(revision)
            }
        }
        switch action {
        case .put(let value):
            unsafe writer.add(value)
        case .increment(let step):
            writer.add(UInt64(bitPattern: (step << 1) ^ (step >> 63)))
        case .check, .delete:
            break
        }
    }

    fileprivate init(decoding reader: inout BinaryReader) throws(InvalidChange) {
        let code = try reader.byte()
        let conditionCodes = try reader.byte()
        let name: PropertyName
        do {
            name = try unsafe PropertyName(borrowing: try reader.bytes(), owner: reader.owner)
        } catch {
            throw InvalidChange()
        }
        let conditions = Conditions(
            ifMatch: try reader.tags(conditionCodes & 3),
            ifNoneMatch: try reader.tags(conditionCodes >> 2)
        )
        let action: Change.Action
        switch code {
        case 0:
            action = .check
        case 1:
            action = unsafe .put(try reader.bytes())
        case 2:
            action = .delete
        case 3:
            let number = try reader.number()
            action = .increment(
                by: Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
            )
        default:
            throw InvalidChange()
        }
        self.init(name, action, conditions)
    }
}

extension Conditions {
    fileprivate static func code(_ tags: Tags?) -> UInt8 {
        switch tags {
        case nil: 0
        case .any: 1
        case .oneOf: 2
        }
    }
}

private struct BinaryWriter {
    var bytes: [UInt8]

    mutating func add(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    mutating func add(_ content: UnsafeRawBufferPointer) {
        add(UInt64(content.count))
        unsafe bytes.append(contentsOf: content)
    }
}

private struct BinaryReader {
    let owner: OwnedBytes
    private var offset = 0

    init(_ owner: OwnedBytes) {
        self.owner = owner
    }

    var isAtEnd: Bool { unsafe offset == owner.bytes.count }

    mutating func byte() throws(InvalidChange) -> UInt8 {
        guard !isAtEnd else {
            throw InvalidChange()
        }
        defer { offset += 1 }
        return unsafe owner.bytes[offset]
    }

    mutating func number() throws(InvalidChange) -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            let bits = UInt64(byte & 0x7F)
            guard (bits << shift) >> shift == bits, byte != 0 || shift == 0 else {
                throw InvalidChange()
            }
            number |= bits << shift
            if byte < 0x80 {
                return number
            }
        }
        throw InvalidChange()
    }

    /// Bytes behind their length, in the owner's memory.
    mutating func bytes() throws(InvalidChange) -> UnsafeRawBufferPointer {
        let count = try number()
        guard unsafe count <= UInt64(owner.bytes.count - offset) else {
            throw InvalidChange()
        }
        defer { offset += Int(count) }
        return unsafe UnsafeRawBufferPointer(rebasing: owner.bytes[offset..<offset + Int(count)])
    }

    mutating func tags(_ code: UInt8) throws(InvalidChange) -> Conditions.Tags? {
        switch code {
        case 0:
            return nil
        case 1:
            return .any
        case 2:
            var revisions: [Revision] = []
            for _ in 0..<(try number()) {
                revisions.append(try number())
            }
            return .oneOf(revisions)
        default:
            throw InvalidChange()
        }
    }
}
