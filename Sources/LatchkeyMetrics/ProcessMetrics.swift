import Foundation
import Glibc

/// What the operating system says of this process, under the names that all Prometheus clients use.
package enum ProcessMetrics {
    private static let cpu = MetricFamily(
        "process_cpu_seconds_total",
        .counter,
        help: "Processor time spent in user and system mode.",
        unit: "seconds"
    )
    private static let residentMemory = MetricFamily(
        "process_resident_memory_bytes",
        .gauge,
        help: "Resident memory.",
        unit: "bytes"
    )
    private static let virtualMemory = MetricFamily(
        "process_virtual_memory_bytes",
        .gauge,
        help: "Virtual memory.",
        unit: "bytes"
    )
    private static let openFiles = MetricFamily(
        "process_open_fds",
        .gauge,
        help: "Open file descriptors."
    )
    private static let filesMax = MetricFamily(
        "process_max_fds",
        .gauge,
        help: "Open file descriptors at most."
    )
    private static let startTime = MetricFamily(
        "process_start_time_seconds",
        .gauge,
        help: "When the process started, since the Unix epoch.",
        unit: "seconds"
    )
    private static let threads = MetricFamily(
        "process_threads",
        .gauge,
        help: "Threads of the process."
    )

    /// Registers the process metrics.
    ///
    /// What cannot be read at a scrape is left out of it.
    package static func register(in registry: MetricRegistry) {
        let families = [
            cpu, residentMemory, virtualMemory, openFiles, filesMax, startTime, threads,
        ]
        registry.collect(families) { writer in
            let now = ProcessReading()
            let values = [
                now.cpuSeconds, now.residentBytes, now.virtualBytes, now.openFiles, now.filesMax,
                now.startSeconds, now.threads,
            ]
            for (family, value) in zip(families, values) {
                guard let value else { continue }
                writer.begin(family)
                writer.sample(.none, value)
            }
        }
    }
}

/// The numbers at one moment.
struct ProcessReading {
    var cpuSeconds: Double?
    var residentBytes: Double?
    var virtualBytes: Double?
    var openFiles: Double?
    var filesMax: Double?
    var startSeconds: Double?
    var threads: Double?

    init() {
        var cpu = timespec()
        if unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu) == 0 {
            cpuSeconds = Double(cpu.tv_sec) + Double(cpu.tv_nsec) / 1e9
        }
        // The fields after the name in parentheses, which may itself have spaces (proc(5)): the
        // first of them is field 3 of the manual.
        if let stat = SystemFile.text("/proc/self/stat"), let name = stat.lastIndex(of: ")") {
            let fields = stat[name...].dropFirst(2).split(separator: " ")
            func field(_ number: Int) -> Double? {
                fields.indices.contains(number - 3) ? Double(fields[number - 3]) : nil
            }
            threads = field(20)
            virtualBytes = field(23)
            residentBytes = field(24).map { $0 * Double(sysconf(Int32(_SC_PAGESIZE))) }
            if let bootSeconds = Self.bootSeconds, let ticks = field(22) {
                startSeconds = bootSeconds + ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
            }
        }
        // One of the descriptors is the one that lists them.
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        openFiles = descriptors.map { Double(max(0, $0.count - 1)) }
        var limit = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            filesMax = Double(limit.rlim_cur)
        }
    }

    private static let bootSeconds: Double? = SystemFile.text("/proc/stat")?
        .split(separator: "\n")
        .first { $0.hasPrefix("btime ") }
        .flatMap { Double($0.dropFirst("btime ".count)) }
}

/// The kernel's small text files.
package enum SystemFile {
    /// The file's text, or `nil` if it cannot be read.
    package static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
