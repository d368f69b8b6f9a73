import Foundation
import Testing

@testable import LatchkeyMetrics

@Suite struct ProcessFigures {
    @Test func `are all there under their usual names`() throws {
        let registry = MetricRegistry()
        ProcessMetrics.register(in: registry)
        let text = String(decoding: registry.text(.text), as: UTF8.self)
        let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split(separator: " ").first }
        #expect(
            names == [
                "process_cpu_seconds_total", "process_resident_memory_bytes",
                "process_virtual_memory_bytes", "process_open_fds", "process_max_fds",
                "process_start_time_seconds", "process_threads",
            ]
        )
    }

    @Test func `are plausible`() throws {
        let reading = ProcessReading()
        let now = Date().timeIntervalSince1970
        #expect(try #require(reading.cpuSeconds) > 0)
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
