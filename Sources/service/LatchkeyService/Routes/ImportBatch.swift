internal import LatchkeyStore

/// The limits of an import.
struct ImportLimits: Sendable {
    /// How many lines are put in one commit.
    let batchLineCount: Int
    /// How long a line can be.
    ///
    /// A batch also ends when it has as many bytes.
    let lineByteCountMax: Int
    let depthMax: Int
    /// How many units of work a batch has: as many as one change can have.
    var unitsMax = StoreLimits.standard.changeUnitsMax
    /// Several lines have no more bytes together: the log of a cluster limits changes.
    var byteCountMax = 1 << 20
}

/// The lines of one commit, where they were received.
///
/// Names and values of the change borrow that memory. The names retain the batch, and so keep it.
///
/// SAFETY: `@safe` because the buffers live as long as the batch, and the lines are in them.
/// `@unchecked Sendable` because threads add lines one after the other, and none does once the
/// change is made.
@safe
final class ImportBatch: @unchecked Sendable {
    /// A batch ends when the buffers of its lines are this long.
    ///
    /// They can be much longer than the lines: the bytes between the lines are kept, too.
    static let heldByteCountMax = 1 << 20

    private(set) var lineCount = 0
    /// The number of the first line in the body, counted from 1.
    private(set) var firstNumber = 0
    private var byteCount = 0
    /// A name for each line, and its KiB.
    private var units = 0
    /// The buffers that hold the lines.
    private var buffers: [ImportBuffer] = []
    private var heldByteCount = 0
    /// The line that is not complete yet, if it began in an earlier buffer.
    private var open: ImportBuffer?

    /// The bytes of the line that is not complete yet.
    var openByteCount: Int { unsafe open?.bytes.count ?? 0 }

    func isFull(_ limits: ImportLimits) -> Bool {
        lineCount >= limits.batchLineCount || byteCount >= limits.lineByteCountMax
            || heldByteCount >= Self.heldByteCountMax || units >= limits.unitsMax
    }

    /// Whether a line, or more of the open one, fits.
    ///
    /// Any line fits an empty batch.
    func fits(_ count: Int, _ limits: ImportLimits) -> Bool {
        lineCount == 0 || byteCount + openByteCount + count <= limits.byteCountMax
    }

    /// The next batch, which begins with the open line of this one.
    func next() -> ImportBatch {
        let next = ImportBatch()
        swap(&next.open, &open)
        return next
    }

    /// Keeps the beginning of a line, or more of it, whose end comes with a later buffer.
    func keepOpen(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let open = open ?? ImportBuffer(capacity: bytes.count)
        unsafe open.append(bytes)
        self.open = open
    }

    /// Ends a line with these bytes of a buffer, and keeps it.
    ///
    /// - Returns: The whole line; nil for a line of only white space, which does not count.
    func endLine(
        _ bytes: UnsafeRawBufferPointer,
        in buffer: ImportBuffer?,
        _ number: Int
    ) -> UnsafeRawBufferPointer? {
        let (bytes, owner) = unsafe whole(bytes, buffer)
        guard unsafe !Self.isBlank(bytes) else { return nil }
        if let owner, buffers.last !== owner {
            buffers.append(owner)
            heldByteCount += owner.capacity
        }
        firstNumber = lineCount == 0 ? number : firstNumber
        lineCount += 1
        byteCount += bytes.count
        units += 1 + bytes.count / 1024
        return unsafe bytes
    }

    private func whole(
        _ bytes: UnsafeRawBufferPointer,
        _ buffer: ImportBuffer?
    ) -> (UnsafeRawBufferPointer, ImportBuffer?) {
        guard let open else {
            return unsafe (bytes, buffer)
        }
        unsafe open.append(bytes)
        self.open = nil
        return unsafe (open.bytes, open)
    }

    private static func isBlank(_ bytes: UnsafeRawBufferPointer) -> Bool {
        unsafe bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
    }
}
