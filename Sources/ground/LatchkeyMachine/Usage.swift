internal import Glibc

/// Used resources of the machine: processor time, switches and page faults.
package struct Usage: Sendable, Equatable {
    package var processorNanoseconds: UInt64 = 0
    package var voluntarySwitches: UInt64 = 0
    package var involuntarySwitches: UInt64 = 0
    package var minorFaults: UInt64 = 0
    package var majorFaults: UInt64 = 0

    package init() {}

    /// The usage that getrusage(2) reports for `who`.
    private init(of who: Int32) {
        var used = rusage()
        // It fails for a wrong `who` or address only.
        guard unsafe getrusage(__rusage_who_t(who), &used) == 0 else { return }
        for time in [used.ru_utime, used.ru_stime] {
            processorNanoseconds +=
                UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_usec) * 1_000
        }
        voluntarySwitches = UInt64(used.ru_nvcsw)
        involuntarySwitches = UInt64(used.ru_nivcsw)
        minorFaults = UInt64(used.ru_minflt)
        majorFaults = UInt64(used.ru_majflt)
    }

    /// The usage of the calling thread so far.
    ///
    /// `RUSAGE_THREAD`, which is 1, is a GNU extension that Swift does not see.
    package static var thread: Usage { Usage(of: 1) }

    /// The usage of all threads of this process so far, including those that have ended.
    package static var process: Usage { Usage(of: RUSAGE_SELF.rawValue) }

    /// The usage of all child processes that have ended.
    package static var children: Usage { Usage(of: RUSAGE_CHILDREN.rawValue) }

    package static func + (left: Usage, right: Usage) -> Usage {
        left.combined(right, &+)
    }

    /// The usage since `right`.
    ///
    /// The kernel's process times can be a tick older than those of a thread, so no difference goes
    /// below 0.
    package static func - (left: Usage, right: Usage) -> Usage {
        left.combined(right) { $0 > $1 ? $0 - $1 : 0 }
    }

    private func combined(_ other: Usage, _ combine: (UInt64, UInt64) -> UInt64) -> Usage {
        var result = Usage()
        for field in [
            \Usage.processorNanoseconds, \.voluntarySwitches, \.involuntarySwitches,
            \.minorFaults, \.majorFaults,
        ] {
            result[keyPath: field] = combine(self[keyPath: field], other[keyPath: field])
        }
        return result
    }
}
