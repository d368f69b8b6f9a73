internal import LatchkeyStore

/// The bounds of an import.
struct ImportLimits: Sendable {
    /// How many lines are put in one commit.
    let batchLineCount: Int
    /// How long a line can be.
    ///
    /// A batch also ends when it has as many bytes.
    let lineByteCountMax: Int
    let depthMax: Int
}

/// The lines of one commit, where they were received.
///
/// Names and values of the change borrow that memory. The names retain the batch, and so keep it.
///
/// SAFETY: `@safe` because the buffers live as long as the batch, and the lines are in them.
/// `@unchecked Sendable` because only one thread after the other adds lines, and none
/// does once the change is made.
@safe
final class ImportBatch: @unchecked Sendable {
    /// A line, and its number in the body, counted from 1.
    ///
    /// SAFETY: `@safe` because it does not leave the batch, which keeps the bytes.
    @safe
    private struct Line {
        let bytes: UnsafeRawBufferPointer
        let number: Int
    }

    /// A batch ends when the buffers of its lines are this long.
    ///
    /// They can be much longer than the lines: what is between them is kept, too.
    static let heldByteCountMax = 1 << 20

    private var lines: [Line] = []
    private var byteCount = 0
    /// What holds the lines.
    private var buffers: [ImportBuffer] = []
    private var heldByteCount = 0
    /// The line that is not complete yet, if it began in an earlier buffer.
    private var open: ImportBuffer?

    var lineCount: Int { lines.count }

    /// The bytes of the line that is not complete yet.
    var openByteCount: Int { unsafe open?.bytes.count ?? 0 }

    /// The number of the first line.
    var firstNumber: Int { lines.first?.number ?? 0 }

    func isFull(_ limits: ImportLimits) -> Bool {
        lines.count >= limits.batchLineCount || byteCount >= limits.lineByteCountMax
            || heldByteCount >= Self.heldByteCountMax
    }

    /// Keeps the beginning of a line, or more of it, whose end comes with a later buffer.
    func keepOpen(_ bytes: UnsafeRawBufferPointer) {
        guard unsafe !bytes.isEmpty else { return }
        let open = open ?? ImportBuffer(capacity: bytes.count)
        unsafe open.append(bytes)
        self.open = open
    }

    /// Ends a line with these bytes of a buffer.
    ///
    /// One of only white space does not count.
    func endLine(_ bytes: UnsafeRawBufferPointer, in buffer: ImportBuffer?, _ number: Int) {
        let (bytes, owner) = unsafe whole(bytes, buffer)
        guard unsafe !Self.isBlank(bytes) else { return }
        if let owner, buffers.last !== owner {
            buffers.append(owner)
            heldByteCount += owner.capacity
        }
        unsafe lines.append(Line(bytes: bytes, number: number))
        byteCount += bytes.count
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

    /// What the lines stand for.
    ///
    /// In a part of an export, lines that say the end are passed over. Else there can be one only,
    /// and nothing behind it.
    func contents(depthMax: Int, isPartial: Bool) throws(BadLine) -> Contents {
        var contents = Contents()
        contents.steps.reserveCapacity(lines.count)
        for line in lines {
            do throws(InvalidImportLine) {
                guard contents.end == nil else {
                    throw .behindEnd
                }
                switch try unsafe ImportEntry(line.bytes, depthMax: depthMax, owner: self) {
                case .put(let step): contents.steps.append(step)
                case .end(let count) where !isPartial: contents.end = (count, line.number)
                case .end: break
                }
            } catch {
                throw BadLine(number: line.number, error: error)
            }
        }
        return contents
    }

    struct Contents {
        /// The puts, which borrow the memory.
        var steps: [Change.Step] = []
        /// How many properties the last line of an export counts, and the number of that line.
        var end: (count: Int64, line: Int)?
    }

    struct BadLine: Error {
        let number: Int
        let error: InvalidImportLine
    }
}
