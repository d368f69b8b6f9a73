internal import Glibc

/// Reads a write-ahead log before SQLite does, which drops everything after a damaged frame without
/// a message.
///
/// The format is in <https://www.sqlite.org/fileformat2.html#the_write_ahead_log>: a header, then
/// frames, each with one page, whose checksums continue from frame to frame. The last frame of a
/// transaction has the size of the database after it; the others have 0.
///
/// A loss of power can tear the last transaction, which was not synced: its frames are there or
/// not, in any combination. All transactions before it were synced. So whole frames after the first
/// transaction that is not whole are damage. Frames of an earlier log have other salts.
struct LogScan {
    /// How many frames the whole transactions have.
    private(set) var frameCount = 0
    /// The length of the file.
    private(set) var byteCount = 0
    /// Whether frames of this log follow the last whole transaction: the rest of a torn one.
    private(set) var hasRemains = false
    /// The place where the log is damaged.
    private(set) var damage: Damage?

    struct Damage: Equatable {
        /// Counted from 1; 0 is the header.
        let frame: Int
        /// The begin of the frame in the file.
        let byte: Int
    }

    static let headerByteCount = 32
    static let frameHeaderByteCount = 24
    static let frameByteCount = frameHeaderByteCount + Schema.pageByteCount

    private let descriptor: Int32
    /// Two numbers of the header, which no other log of the database has; 0 without a header.
    private(set) var salts: UInt64 = 0
    private var isBigEndian = false
    /// The size of the database after the last whole transaction.
    private var pageCount: UInt32 = 0

    /// Scans a file; a missing one counts as empty.
    init(_ path: String) throws(PersistenceFailure) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else {
                throw .call("open", path)
            }
            return
        }
        defer { close(descriptor) }
        byteCount = Int(lseek(descriptor, 0, SEEK_END))
        try scan(path)
    }

    /// A place in the chain of checksums.
    private struct Sums: Equatable {
        var one: UInt32 = 0
        var two: UInt32 = 0
    }

    /// A frame as it is in the file.
    private struct Frame {
        let salts: UInt64
        /// The size of the database in pages after a transaction's last frame, else 0.
        let pageCount: UInt32
        let sums: Sums
        var isLast: Bool { pageCount != 0 }
    }

    private mutating func scan(_ path: String) throws(PersistenceFailure) {
        var buffer = [UInt8](repeating: 0, count: Self.frameByteCount)
        guard try read(&buffer, Self.headerByteCount, at: 0, path), var sums = header(buffer) else {
            // A header is synced before the first frame is written: without a frame, it is torn.
            if byteCount > Self.headerByteCount, try hasContent(&buffer, path) {
                damage = Damage(frame: 0, byte: 0)
            }
            return
        }
        var index = 1
        while try read(&buffer, Self.frameByteCount, at: offset(index), path) {
            let frame = frame(buffer)
            let computed = add(buffer, to: sums)
            guard frame.salts == salts, frame.sums == computed else {
                if try isDamaged(frame, index, computed, isCommit(buffer, after: sums), path) {
                    damage = Damage(frame: index, byte: offset(index))
                }
                return
            }
            hasRemains = !frame.isLast
            sums = computed
            if frame.isLast {
                frameCount = index
                pageCount = frame.pageCount
            }
            index += 1
        }
    }

    /// Whether frames follow the transaction of the first frame that is not whole.
    ///
    /// A transaction ends with one frame. So a second frame that ends a transaction is damage, even
    /// if the frame before it is lost and its checksum cannot be checked.
    private mutating func isDamaged(
        _ bad: Frame,
        _ badIndex: Int,
        _ computed: Sums,
        _ isCommit: Bool,
        _ path: String
    ) throws(PersistenceFailure) -> Bool {
        // A frame of an earlier log has neither of the salts.
        let isOurs =
            bad.salts >> 32 == salts >> 32
            || UInt32(truncatingIfNeeded: bad.salts) == UInt32(truncatingIfNeeded: salts)
        hasRemains = hasRemains || isOurs
        var hasEnded = isOurs && bad.isLast && !isSplit(badIndex)
        var buffer = [UInt8](repeating: 0, count: Self.frameByteCount)
        // The sums from which the next frame may continue.
        var before = [bad.sums, computed]
        var index = badIndex + 1
        while try read(&buffer, Self.frameByteCount, at: offset(index), path) {
            let frame = frame(buffer)
            let isWhole =
                frame.salts == salts
                && before.contains { add(buffer, to: $0) == frame.sums }
            // Only the word that ends the transaction is damaged, else the next frame would not
            // continue from its checksum.
            hasEnded = hasEnded || isCommit && index == badIndex + 1 && isWhole
            let isEnd =
                frame.salts == salts && frame.isLast && (isWhole || !isSplit(index))
            if hasEnded, isWhole || isEnd {
                return true
            }
            hasEnded = hasEnded || isEnd
            hasRemains = hasRemains || frame.salts == salts
            before = [frame.sums]
            index += 1
        }
        return false
    }

    /// Whether a frame that is not whole ended a transaction before its ending word changed: in one
    /// bit, or from the size that the database had.
    private func isCommit(_ buffer: [UInt8], after sums: Sums) -> Bool {
        let (frame, page) = (frame(buffer), Self.frameHeaderByteCount..<Self.frameByteCount)
        let words = [pageCount] + (0..<32).map { frame.pageCount ^ 1 << $0 }
        return words.contains { word in
            var bytes = buffer
            for index in 0..<4 {
                bytes[4 + index] = UInt8(truncatingIfNeeded: word >> (24 - 8 * index))
            }
            return word != 0 && add(bytes, page, to: add(bytes, 0..<8, to: sums)) == frame.sums
        }
    }

    /// Whether a sector ends between the word that ends a transaction and the salts.
    ///
    /// Then a torn frame can have that word from an earlier log.
    private func isSplit(_ index: Int) -> Bool { (offset(index) + 8) % 512 == 0 }

    private func offset(_ index: Int) -> Int {
        Self.headerByteCount + (index - 1) * Self.frameByteCount
    }

    /// The sums after the header; nil if it is not whole.
    private mutating func header(_ bytes: [UInt8]) -> Sums? {
        let magic = word(bytes, 0)
        isBigEndian = magic == 0x377F_0683
        guard isBigEndian || magic == 0x377F_0682, word(bytes, 4) == 3_007_000,
            word(bytes, 8) == UInt32(Schema.pageByteCount)
        else {
            return nil
        }
        let sums = add(bytes, 0..<24, to: Sums())
        guard sums == Sums(one: word(bytes, 24), two: word(bytes, 28)) else { return nil }
        salts = UInt64(word(bytes, 16)) << 32 | UInt64(word(bytes, 20))
        return sums
    }

    private func frame(_ bytes: [UInt8]) -> Frame {
        Frame(
            salts: UInt64(word(bytes, 8)) << 32 | UInt64(word(bytes, 12)),
            pageCount: word(bytes, 4),
            sums: Sums(one: word(bytes, 16), two: word(bytes, 20))
        )
    }

    /// A number of the format, whose numbers are all big-endian.
    private func word(_ bytes: [UInt8], _ offset: Int) -> UInt32 {
        UInt32(
            bigEndian: unsafe bytes.span.bytes.unsafeLoadUnaligned(
                fromByteOffset: offset,
                as: UInt32.self
            )
        )
    }

    /// The checksum of a frame: of the first eight bytes of its header, and of its page.
    private func add(_ frame: [UInt8], to sums: Sums) -> Sums {
        let header = add(frame, 0..<8, to: sums)
        return add(frame, Self.frameHeaderByteCount..<Self.frameByteCount, to: header)
    }

    private func add(_ bytes: [UInt8], _ range: Range<Int>, to sums: Sums) -> Sums {
        var sums = sums
        let raw = unsafe bytes.span.bytes
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            let one = unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self)
            let two = unsafe raw.unsafeLoadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
            sums.one &+= (isBigEndian ? one.bigEndian : one.littleEndian) &+ sums.two
            sums.two &+= (isBigEndian ? two.bigEndian : two.littleEndian) &+ sums.one
        }
        return sums
    }

    /// Whether a file without a header has anything but zeros.
    private func hasContent(
        _ buffer: inout [UInt8],
        _ path: String
    ) throws(PersistenceFailure) -> Bool {
        var place = 0
        while place < byteCount {
            let count = min(buffer.count, byteCount - place)
            guard try read(&buffer, count, at: place, path) else {
                return false
            }
            if buffer[..<count].contains(where: { $0 != 0 }) {
                return true
            }
            place += count
        }
        return false
    }

    /// Reads so many bytes; false if the file has fewer there.
    private func read(
        _ buffer: inout [UInt8],
        _ count: Int,
        at place: Int,
        _ path: String
    ) throws(PersistenceFailure) -> Bool {
        guard place + count <= byteCount else {
            return false
        }
        let status = unsafe pread(descriptor, &buffer, count, off_t(place))
        guard status >= 0 else {
            throw .call("pread", path)
        }
        return status == count
    }
}
