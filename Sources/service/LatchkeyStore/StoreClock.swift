internal import Glibc
internal import Synchronization

/// A moment of the calendar: milliseconds since the start of 1970, UTC.
package struct Timestamp: Sendable, Hashable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The end of time: the expiry of a property that is kept without limit.
    package static let never = Timestamp(milliseconds: .max)
}

/// The source of a store's time.
///
/// **Design.** The offset of ``system`` is the only thing that changes: it is set once, before the
/// service serves.
package struct StoreClock: Sendable {
    package let now: @Sendable () -> Timestamp

    package init(_ now: @escaping @Sendable () -> Timestamp) {
        self.now = now
    }

    /// The calendar's time when the process began to use the clock, and since then the monotonic
    /// clock (clock_gettime(2)).
    ///
    /// So a change of the system's time moves no expiry. Not the coarse clock, which is some
    /// milliseconds late: a property would be served after its time.
    ///
    /// It stands still at the last time that ``InputCheck`` takes, so that each written time can be
    /// read.
    package static let system = StoreClock {
        let milliseconds =
            (nanoseconds(CLOCK_MONOTONIC) + offset.load(ordering: .relaxed)) / 1_000_000
        return Timestamp(milliseconds: min(milliseconds, InputCheck.millisecondsMax))
    }

    /// Sets ``system`` forward to this time, if it is behind.
    ///
    /// For the time of the last commit of an earlier process: the system's time can have been set
    /// back since then, and properties that expired in that process must not come back.
    /// ``InputCheck/time(_:)`` has checked the time.
    package static func advance(to time: Timestamp) {
        let behind = time.milliseconds - system.now().milliseconds
        if behind > 0 {
            offset.add(behind * 1_000_000, ordering: .relaxed)
        }
    }

    /// The calendar's nanoseconds minus the monotonic clock's.
    ///
    /// Relaxed: it is only set before the service serves, and orders nothing.
    private static let offset = Atomic<Int64>(
        nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC)
    )

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        let status = unsafe clock_gettime(clock, &time)
        precondition(status == 0, "clock_gettime failed.")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
