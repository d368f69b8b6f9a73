internal import Glibc
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

/// The lines of one commit, in one piece of memory.
///
/// Names and values of the change borrow that memory. The names retain the batch, and so keep it.
///
/// SAFETY: `@safe` because the memory lives as long as the batch, and every access is inside it.
/// `@unchecked Sendable` because only one thread after the other adds lines, and nobody
/// does once the change is made.
@safe
final class ImportBatch: @unchecked Sendable {
    /// A line, by its place in the memory and its number in the body, counted from 1.
    private struct Line {
        let start: Int
        let end: Int
        let number: Int
    }

    private var memory: UnsafeMutableRawBufferPointer
    private var byteCount = 0
    private var lines: [Line] = []
    /// Where the line begins that is not complete yet.
    private var lineStart = 0

    /// - Parameter capacity: How many bytes there is room for at first.
    init(capacity: Int) {
        unsafe memory = .allocate(byteCount: capacity, alignment: 1)
    }

    deinit {
        unsafe memory.deallocate()
    }

    var lineCount: Int { lines.count }
    var capacity: Int { unsafe memory.count }

    /// The bytes of the line that is not complete yet.
    var openByteCount: Int { byteCount - lineStart }

    /// The number of the first line.
    var firstNumber: Int { lines.first?.number ?? 0 }

    func isFull(_ limits: ImportLimits) -> Bool {
        lines.count >= limits.batchLineCount || lineStart >= limits.lineByteCountMax
    }

    func append(_ bytes: UnsafeRawBufferPointer) {
        let needed = byteCount + bytes.count
        if unsafe needed > memory.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: unsafe max(needed, 2 * memory.count),
                alignment: 1
            )
            unsafe larger.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: memory[..<byteCount])
            )
            unsafe memory.deallocate()
            unsafe memory = larger
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: memory[byteCount...])
            .copyMemory(from: bytes)
        byteCount = needed
    }

    /// Ends the line that is not complete yet.
    ///
    /// One of only white space does not count.
    func endLine(_ number: Int) {
        if !isBlank(lineStart, byteCount) {
            lines.append(Line(start: lineStart, end: byteCount, number: number))
        }
        lineStart = byteCount
    }

    private func isBlank(_ start: Int, _ end: Int) -> Bool {
        for index in start..<end {
            let byte = unsafe memory[index]
            guard byte == 0x20 || byte == 0x09 || byte == 0x0D else {
                return false
            }
        }
        return true
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
                let bytes = unsafe UnsafeRawBufferPointer(rebasing: memory[line.start..<line.end])
                switch try unsafe ImportEntry(bytes, depthMax: depthMax, owner: self) {
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
