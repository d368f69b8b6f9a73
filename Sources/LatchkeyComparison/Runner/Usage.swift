import CLatchkeySystem

/// What was used of the machine: processor time, switches and page faults.
struct Usage: Sendable, Equatable {
    var processorNanoseconds: UInt64 = 0
    var voluntarySwitches: UInt64 = 0
    var involuntarySwitches: UInt64 = 0
    var minorFaults: UInt64 = 0
    var majorFaults: UInt64 = 0

    init() {}

    private init(_ usage: latchkey_system_usage) {
        processorNanoseconds = usage.processor_nanoseconds
        voluntarySwitches = usage.voluntary_switches
        involuntarySwitches = usage.involuntary_switches
        minorFaults = usage.minor_faults
        majorFaults = usage.major_faults
    }

    /// Of the calling thread so far.
    static var thread: Usage { Usage(latchkey_system_thread_usage()) }

    /// Of the whole process so far.
    static var process: Usage { Usage(latchkey_system_process_usage()) }

    static func + (left: Usage, right: Usage) -> Usage {
        left.combined(right, &+)
    }

    /// What came after `right`.
    ///
    /// The kernel's process times can lag behind those of a thread by a tick, so nothing goes below
    /// 0.
    static func - (left: Usage, right: Usage) -> Usage {
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
