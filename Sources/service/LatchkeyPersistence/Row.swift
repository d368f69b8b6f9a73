internal import CZlib
internal import LatchkeyStore

/// The checksum of a row: CRC-32 of its numbers, the lengths of its texts, and its texts.
///
/// The length of an author is left out: it is the last text. A revision that a property keeps comes
/// before it.
///
/// SQLite has none of its own, and `pragma integrity_check` does not see a flipped bit in a value.
enum RowChecksum {
    /// The table of a row.
    enum Table: UInt64 {
        case meta = 1
        case changes
        case stored
        case notes
        /// No table: the notes about the log.
        case logNote
    }

    static func of(
        _ table: Table,
        _ numbers: InlineArray<5, Int64>,
        _ first: UnsafeRawBufferPointer,
        _ second: UnsafeRawBufferPointer? = nil,
        author: UnsafeRawBufferPointer? = nil,
        kept: Int64? = nil
    ) -> Int64 {
        let secondCount = unsafe second.map { UInt64($0.count) } ?? .max
        let words: InlineArray<8, UInt64> = [
            table.rawValue.littleEndian,
            UInt64(bitPattern: numbers[0]).littleEndian,
            UInt64(bitPattern: numbers[1]).littleEndian,
            UInt64(bitPattern: numbers[2]).littleEndian,
            UInt64(bitPattern: numbers[3]).littleEndian,
            UInt64(bitPattern: numbers[4]).littleEndian,
            UInt64(first.count).littleEndian,
            secondCount.littleEndian,
        ]
        var sum = unsafe words.span.bytes.withUnsafeBytes { unsafe add($0, to: 0) }
        sum = unsafe add(first, to: sum)
        if let second = unsafe second {
            sum = unsafe add(second, to: sum)
        }
        if let kept {
            let words: InlineArray<1, UInt64> = [UInt64(bitPattern: kept).littleEndian]
            sum = unsafe words.span.bytes.withUnsafeBytes { unsafe add($0, to: sum) }
        }
        // Rows without an author have the checksum of the first format.
        if let author = unsafe author {
            sum = unsafe add(author, to: sum)
        }
        return Int64(sum)
    }

    private static func add(_ bytes: UnsafeRawBufferPointer, to sum: uLong) -> uLong {
        guard let start = bytes.baseAddress else {
            return sum
        }
        return unsafe crc32_z(sum, start.assumingMemoryBound(to: UInt8.self), z_size_t(bytes.count))
    }
}

/// The numbers of a property as the tables have them.
struct RowNumbers {
    var revision: Int64
    var created: Int64
    /// Nil if the property does not expire.
    var expiry: Int64?

    init(revision: Int64, created: Int64, expiry: Int64?) {
        self.revision = revision
        self.created = created
        self.expiry = expiry
    }

    init(_ property: Property) {
        revision = Int64(bitPattern: property.revision)
        created = Int64(bitPattern: property.created)
        expiry = property.isMortal ? property.expiry.milliseconds : nil
    }

    /// The checksum of the property's row in `stored`.
    func storedChecksum(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        _ author: UnsafeRawBufferPointer?
    ) -> Int64 {
        unsafe RowChecksum.of(
            .stored,
            [revision, created, expiry ?? .max, 0, 0],
            name,
            value,
            author: author
        )
    }
}
