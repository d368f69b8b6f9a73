internal import Foundation
internal import Glibc

/// The operating system's figures of this process at one moment.
package struct ProcessReading {
    package var cpuSeconds: Double
    package var residentBytes: Double?
    package var virtualBytes: Double?
    package var openFiles: Double?
    package var filesMax: Double?
    package var startSeconds: Double?
    package var threads: Double?

    package init() {
        cpuSeconds = Double(Usage.process.processorNanoseconds) / 1e9
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
                startSeconds = bootSeconds + ticks / MachineReading.ticksPerSecond
            }
        }
        openFiles = Self.openFileCount.map(Double.init)
        var limit = rlimit()
        if unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            filesMax = Double(limit.rlim_cur)
        }
    }

    /// The resident memory of this process.
    package static var residentByteCount: Int? {
        // Pages: the size, and the resident part of it (proc(5)).
        let fields = SystemFile.text("/proc/self/statm")?.split(separator: " ")
        guard let fields, fields.count > 1 else { return nil }
        return Int(fields[1]).map { $0 * sysconf(Int32(_SC_PAGESIZE)) }
    }

    /// The open file descriptors, without the one that lists them.
    package static var openFileCount: Int? {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return names.map { max(0, $0.count - 1) }
    }

    private static let bootSeconds = SystemFile.field("btime", " ", in: "/proc/stat")
        .flatMap { Double($0) }
}
