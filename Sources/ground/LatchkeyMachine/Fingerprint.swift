internal import Foundation
internal import Glibc

/// The machine and the build of a measurement.
///
/// Figures mean little without them.
package struct Fingerprint: Codable, Sendable, Equatable {
    /// Facts that the caller knows and this module cannot find out.
    package struct Context: Codable, Sendable, Equatable {
        /// Latchkey's version.
        package var version: String
        /// The HTTP library in use, with its version.
        package var httpLibrary: String?
        /// The threads of connections, such as `event-loop 2`.
        package var httpThreads: String?
        /// The linked implementation of `Synchronization.Mutex`, where it was observed.
        package var mutexKind: String?

        package init(
            version: String,
            httpLibrary: String? = nil,
            httpThreads: String? = nil,
            mutexKind: String? = nil
        ) {
            self.version = version
            self.httpLibrary = httpLibrary
            self.httpThreads = httpThreads
            self.mutexKind = mutexKind
        }
    }

    package var context: Context
    /// The compiler version of this build, or an older one.
    ///
    /// The language offers comparisons only.
    package var swiftVersionAtLeast: String
    /// `debug` or `release`.
    ///
    /// Figures of a debug build say nothing about the strategies.
    package var configuration: String
    package var operatingSystem: String?
    package var kernel: String?
    package var architecture: String?
    package var processorModel: String?
    package var processorsOnline: Int
    /// The processors that this process may run on, such as `0-3`.
    package var processorsAllowed: String?
    /// The processor time that the control groups grant, in processors, if they limit it.
    package var processorQuota: Double?
    package var memoryBytes: Int?
    package var clockSource: String?
    /// The load average of the last 1, 5 and 15 minutes, at the time of the report.
    package var loadAverage: [Double]

    /// Looks at the machine.
    ///
    /// Reads a few small files.
    package init(_ context: Context) {
        self.context = context
        swiftVersionAtLeast = Self.compilerVersion
        configuration = Self.configuration
        operatingSystem = SystemFile.field("PRETTY_NAME", "=", in: "/etc/os-release").map {
            $0.trimmingCharacters(in: ["\""])
        }
        kernel = SystemFile.line("/proc/sys/kernel/osrelease")
        #if arch(x86_64)
        architecture = "x86_64"
        #elseif arch(arm64)
        architecture = "aarch64"
        #endif
        processorModel = SystemFile.field("model name", ":", in: "/proc/cpuinfo")
        processorsOnline = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        processorsAllowed = SystemFile.field("Cpus_allowed_list", ":", in: "/proc/self/status")
        processorQuota = ControlGroup().processorQuota
        // Not sysconf(): where sysinfo(2) is refused, the C library reads uninitialized stack
        // memory.
        memoryBytes = SystemFile.field("MemTotal", ":", in: "/proc/meminfo")
            .flatMap { Int($0.prefix { $0 != " " }) }.map { $0 << 10 }
        clockSource = SystemFile.line(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource"
        )
        loadAverage = Self.loadAverage
    }

    /// The load average of the last 1, 5 and 15 minutes, now.
    package static var loadAverage: [Double] {
        SystemFile.line("/proc/loadavg").map { line in
            line.split(separator: " ").prefix(3).compactMap { Double($0) }
        } ?? []
    }

    package static var configuration: String {
        #if DEBUG
        "debug"
        #else
        "release"
        #endif
    }

    /// The newest version that the compiler says it reaches.
    package static var compilerVersion: String {
        #if compiler(>=6.5)
        "6.5"
        #elseif compiler(>=6.4)
        "6.4"
        #elseif compiler(>=6.3.1)
        "6.3.1"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }
}
