internal import CLatchkeyMachine
internal import Glibc

/// Counts system calls by the kernel's tracepoints, where that is allowed.
///
/// A tracepoint that is counted makes every system call of the machine a little slower, so it is
/// on only while wait and hold are metered, and the throughput is measured without it.
package struct SystemCallCounter: Sendable {
    private let futexTracepoint: UInt64
    private let anyTracepoint: UInt64

    /// - Throws: Why there is nothing to count with, as a sentence.
    package init() throws(SystemCallsMissing) {
        let futex = Self.tracepoint("syscalls/sys_enter_futex")
        let any = Self.tracepoint("raw_syscalls/sys_enter")
        guard let futex, let any else {
            throw SystemCallsMissing(reason: "the kernel's tracepoints cannot be read (tracefs)")
        }
        futexTracepoint = futex
        anyTracepoint = any
        let descriptor = latchkey_machine_count_open(futex)
        guard descriptor >= 0 else {
            throw SystemCallsMissing(
                reason: "perf_event_open is not allowed (errno \(-descriptor))"
            )
        }
        close(descriptor)
    }

    private static func tracepoint(_ name: String) -> UInt64? {
        for root in ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"] {
            let path = "\(root)/events/\(name)/id"
            if let line = SystemFile.line(path) {
                return UInt64(line)
            }
        }
        return nil
    }

    /// Begins to count the calling thread's calls; `nil` if the kernel refuses.
    package func begin() -> Counts? {
        let futex = latchkey_machine_count_open(futexTracepoint)
        let any = latchkey_machine_count_open(anyTracepoint)
        let counts = Counts(futexDescriptor: futex, anyDescriptor: any)
        guard futex >= 0, any >= 0 else {
            counts.end()
            return nil
        }
        return counts
    }

    /// The open counts of one thread.
    package struct Counts {
        fileprivate let futexDescriptor: Int32
        fileprivate let anyDescriptor: Int32

        package func read() -> (futex: Int, all: Int)? {
            guard let futex = Self.count(futexDescriptor), let all = Self.count(anyDescriptor)
            else { return nil }
            return (futex, all)
        }

        private static func count(_ descriptor: Int32) -> Int? {
            var count = 0
            let size = MemoryLayout<Int>.size
            return unsafe Glibc.read(descriptor, &count, size) == size ? count : nil
        }

        package func end() {
            for descriptor in [futexDescriptor, anyDescriptor] where descriptor >= 0 {
                close(descriptor)
            }
        }
    }
}

/// Why system calls are not counted.
package struct SystemCallsMissing: Error {
    package let reason: String
}
