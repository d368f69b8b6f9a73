/// The first 64 bytes of a trace, which say how to read the rest.
///
/// `latchkey serve --record` writes a trace, and `latchkey compare --trace` reads it: the kind, the
/// property and the time of each operation, without a name or a value.
/// `docs/schemas/trace-format.md` describes the format, number by number. All numbers are
/// little-endian.
package struct TraceHeader: Sendable, Equatable {
    /// The format that this program writes, and the newest that it reads.
    package static let formatVersion: UInt16 = 1
    package static let byteCount = 64

    static let magic: [UInt8] = Array("LKTRACE\n".utf8)

    /// One operation in this many was recorded, on average.
    package var sampleInterval: UInt32
    /// When the recording began, in milliseconds since 1970.
    package var startedMilliseconds: Int64

    package init(sampleInterval: UInt32, startedMilliseconds: Int64) {
        self.sampleInterval = sampleInterval
        self.startedMilliseconds = startedMilliseconds
    }

    package var bytes: [UInt8] {
        var bytes = Self.magic
        bytes.append(littleEndian: Self.formatVersion)
        bytes.append(littleEndian: UInt16(Self.byteCount))
        bytes.append(littleEndian: UInt32(TraceRecord.byteCount))
        bytes.append(littleEndian: sampleInterval)
        bytes.append(littleEndian: UInt32(0))
        bytes.append(littleEndian: startedMilliseconds)
        return bytes + [UInt8](repeating: 0, count: Self.byteCount - bytes.count)
    }

    /// Reads the header at the beginning of a file.
    init(_ bytes: ArraySlice<UInt8>) throws(InvalidTrace) {
        guard bytes.starts(with: Self.magic.prefix(bytes.count)), !bytes.isEmpty else {
            throw .notATrace
        }
        guard bytes.count >= 10 else {
            throw .noHeader
        }
        let start = bytes.startIndex
        let version: UInt16 = bytes.littleEndian(at: start + 8)
        guard version == Self.formatVersion else {
            throw .otherFormat(Int(version))
        }
        guard bytes.count >= Self.byteCount else {
            throw .noHeader
        }
        let ownCount: UInt16 = bytes.littleEndian(at: start + 10)
        let recordCount: UInt32 = bytes.littleEndian(at: start + 12)
        sampleInterval = bytes.littleEndian(at: start + 16)
        startedMilliseconds = bytes.littleEndian(at: start + 24)
        guard ownCount == Self.byteCount, recordCount == TraceRecord.byteCount, sampleInterval > 0
        else {
            throw .damagedHeader
        }
    }
}

/// Why a file cannot be used as a trace: the end of a sentence that begins with its name.
package enum InvalidTrace: Error, Equatable {
    case notATrace
    case noHeader
    case damagedHeader
    case otherFormat(Int)
    /// The time of the record with this number, from 1, is before that of the one before it.
    case runsBackwards(record: Int)
    case unknownKind(record: Int)
    case empty

    package var message: String {
        switch self {
        case .notATrace: "is not a trace: it does not begin with LKTRACE."
        case .noHeader: "ends in the middle of its header."
        case .damagedHeader: "has a damaged header."
        case .otherFormat(let version):
            "has format \(version), and this program reads format \(TraceHeader.formatVersion)."
        case .runsBackwards(let record):
            "is damaged: the time of record \(record) is before that of the record before it."
        case .unknownKind(let record): "is damaged: record \(record) has an unknown kind."
        case .empty: "has no operations."
        }
    }
}

extension [UInt8] {
    mutating func append(littleEndian number: some FixedWidthInteger) {
        for shift in stride(from: 0, to: number.bitWidth, by: 8) {
            append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }
}

extension ArraySlice<UInt8> {
    func littleEndian<Number: FixedWidthInteger>(at index: Int) -> Number {
        (0..<Number.bitWidth / 8).reduce(0) { number, place in
            number | Number(truncatingIfNeeded: self[index + place]) << (8 * place)
        }
    }
}
