internal import LatchkeyMachine
internal import LatchkeyMetrics

/// The operating system's figures of this process, under the names that all Prometheus clients use,
/// and the build.
enum ProcessMetrics {
    /// Registers the process metrics.
    ///
    /// A figure that cannot be read is left out of the scrape.
    static func register(in registry: MetricRegistry, _ program: ProgramVersion) {
        registry.gauge(build, Labels(program.labels)).set(1)
        registry.collect(figures.map(\.family)) { writer in
            let now = ProcessReading()
            for figure in figures {
                guard let value = figure.value(now) else { continue }
                writer.begin(figure.family)
                writer.sample(.none, value)
            }
        }
    }

    private static let build = MetricFamily(
        "latchkey_build_info",
        .gauge,
        help: "The program's version and how it was built."
    )

    private struct Figure: Sendable {
        let family: MetricFamily
        let value: @Sendable (ProcessReading) -> Double?

        init(
            _ name: String,
            _ help: String,
            unit: String? = nil,
            _ value: @escaping @Sendable (ProcessReading) -> Double?
        ) {
            let kind: MetricFamily.Kind = name.hasSuffix("_total") ? .counter : .gauge
            family = MetricFamily(name, kind, help: help, unit: unit)
            self.value = value
        }
    }

    private static let figures = [
        Figure(
            "process_cpu_seconds_total",
            "Processor time spent in user and system mode.",
            unit: "seconds"
        ) { $0.cpuSeconds },
        Figure("process_resident_memory_bytes", "Resident memory.", unit: "bytes") {
            $0.residentBytes
        },
        Figure("process_virtual_memory_bytes", "Virtual memory.", unit: "bytes") {
            $0.virtualBytes
        },
        Figure("process_open_fds", "Open file descriptors.") { $0.openFiles },
        Figure("process_max_fds", "Open file descriptors at most.") { $0.filesMax },
        Figure(
            "process_start_time_seconds",
            "When the process started, since the Unix epoch.",
            unit: "seconds"
        ) { $0.startSeconds },
        Figure("process_threads", "Threads of the process.") { $0.threads },
    ]
}
