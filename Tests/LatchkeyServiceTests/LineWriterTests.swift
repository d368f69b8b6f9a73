import Foundation
import LatchkeyFrame
import LatchkeyService
import LatchkeyTestSupport
import Testing

/// Lines for a reader that has stopped reading.
@Suite(.timeLimit(.minutes(15)))
struct LineWriterTests {
    /// Some of the bytes in the pipe; waits until there are some.
    private func readSome(_ pipe: Pipe) -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    @Test(arguments: Log.Format.allCases)
    func `unread lines are dropped, counted and reported`(format: Log.Format) throws {
        let pipe = Pipe()
        let writer = LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        let log = Log(format: format, level: .info, writer: writer)
        // More than the pipe and the writer hold together.
        var count = 0
        while writer.droppedTotal < 100 {
            log.write(.warning, "event", ["number": "\(count)"])
            count += 1
        }
        let dropped = writer.droppedTotal
        // The writer may have reported some of them before the last were dropped.
        let pattern = /"?dropped"?[=:]"?(\d+)/
        var text = ""
        var reported: UInt64 = 0
        while reported < dropped {
            text += readSome(pipe)
            let whole = text[..<(text.lastIndex(of: "\n") ?? text.startIndex)]
            reported = whole.matches(of: pattern).compactMap { UInt64($0.1) }.reduce(0, +)
        }
        let lines = text.split(separator: "\n")
        #expect(reported == dropped)
        #expect(lines.filter { $0.contains("number") }.count == count - Int(dropped))
        log.write(.info, "after")
        writer.flush(withinMilliseconds: 1000 * Patience.seconds)
        #expect(readSome(pipe).split(separator: "\n").count == 1, "reported once")
    }

    @Test func `a flush gives up on a reader that does not read`() throws {
        let pipe = Pipe()
        let capacity = 65_536
        try pipe.fileHandleForWriting.write(contentsOf: Data(repeating: 0x61, count: capacity))
        let writer = LineWriter(descriptor: pipe.fileHandleForWriting.fileDescriptor)
        writer.append(Array("late\n".utf8))
        writer.flush(withinMilliseconds: 20)
        #expect(try pipe.fileHandleForReading.read(upToCount: capacity)?.count == capacity)
        writer.flush(withinMilliseconds: 1000 * Patience.seconds)
        #expect(readSome(pipe) == "late\n")
        #expect(writer.droppedTotal == 0)
    }

    @Test func `a descriptor that cannot be written loses lines and no more`() {
        let writer = LineWriter(descriptor: -1)
        writer.append([0x0A])
        writer.flush(withinMilliseconds: 1000 * Patience.seconds)
        #expect(writer.droppedTotal == 1)
    }
}
