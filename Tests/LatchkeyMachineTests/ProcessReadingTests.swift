import Foundation
import LatchkeyMachine
import Testing

@Suite struct ProcessFigures {
    @Test func `are plausible`() throws {
        let reading = ProcessReading()
        let now = Date().timeIntervalSince1970
        #expect(reading.cpuSeconds > 0)
        #expect(try #require(reading.residentBytes) > 1_000_000)
        #expect(try #require(reading.virtualBytes) > (reading.residentBytes ?? 0))
        #expect(try #require(reading.openFiles) >= 3)
        #expect(try #require(reading.filesMax) >= (reading.openFiles ?? 0))
        #expect(try #require(reading.threads) >= 1)
        // The kernel's boot time is whole seconds.
        #expect(try #require(reading.startSeconds) <= now + 1)
        #expect(try #require(reading.startSeconds) > now - 86_400)
    }

    @Test func `follow an opened file`() throws {
        let before = try #require(ProcessReading().openFiles)
        let files = (0..<50).compactMap { _ in FileHandle(forReadingAtPath: "/dev/null") }
        let after = try #require(ProcessReading().openFiles)
        withExtendedLifetime(files) {}
        // Other tests open and close files meanwhile.
        #expect(after - before > 25)
    }
}
