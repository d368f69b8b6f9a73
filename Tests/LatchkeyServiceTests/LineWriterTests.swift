import Foundation
import LatchkeyService
import Testing

/// Lines on their way to a reader that has stopped reading.
@Suite(.timeLimit(.minutes(1)))
struct LineWriterTests {
    /// What is in the pipe, but not all if there is much; waits for something.
    private func readSome(_ pipe: Pipe) -> String {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(pipe.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
        return String(decoding: buffer[..<max(0, count)], as: UTF8.self)
    }

    @Test(arguments: Log.Format.allCases)
    func `lines that nobody reads are dropped, counted and reported`(format: Log.Format) throws {
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
        var text = ""
        while !text.contains("dropped") || !text.hasSuffix("\n") {
            text += readSome(pipe)
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count == count - Int(dropped) + 1)
        let report = try #require(lines.last)
        #expect(
            report.hasSuffix(
                format == .text
                    ? "warning log dropped=\(dropped)" : #""event":"log","dropped":"\#(dropped)"}"#
            ),
            "\(report)"
        )
        log.write(.info, "after")
        writer.flush(withinMilliseconds: 10_000)
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
        writer.flush(withinMilliseconds: 10_000)
        #expect(readSome(pipe) == "late\n")
        #expect(writer.droppedTotal == 0)
    }

    @Test func `a descriptor that cannot be written loses lines and no more`() {
        let writer = LineWriter(descriptor: -1)
        writer.append([0x0A])
        writer.flush(withinMilliseconds: 10_000)
        #expect(writer.droppedTotal == 1)
    }
}
