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
}
