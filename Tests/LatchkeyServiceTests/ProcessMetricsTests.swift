import LatchkeyMetrics
import Testing

@testable import LatchkeyService

@Suite struct ProcessFigures {
    @Test func `are all there under their usual names`() throws {
        let registry = MetricRegistry()
        ProcessMetrics.register(in: registry, ProgramVersion("1.2.3"))
        let text = String(decoding: registry.text(.text), as: UTF8.self)
        let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
            .compactMap { $0.split { " {".contains($0) }.first }
        #expect(
            names == [
                "latchkey_build_info",
                "process_cpu_seconds_total", "process_resident_memory_bytes",
                "process_virtual_memory_bytes", "process_open_fds", "process_max_fds",
                "process_start_time_seconds", "process_threads",
            ]
        )
    }
}
