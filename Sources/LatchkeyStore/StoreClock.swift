internal import Glibc

/// A moment of the calendar: milliseconds since the start of 1970, UTC.
@usableFromInline
package struct Timestamp: Sendable, Hashable {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The end of time: when a property expires that is kept without limit.
    package static let never = Timestamp(milliseconds: .max)
}

/// Where a store gets the time from.
@usableFromInline
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
    package static let system = StoreClock {
        Timestamp(milliseconds: (nanoseconds(CLOCK_MONOTONIC) + offsetNanoseconds) / 1_000_000)
    }

    private static let offsetNanoseconds =
        nanoseconds(CLOCK_REALTIME) - nanoseconds(CLOCK_MONOTONIC)

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        let status = unsafe clock_gettime(clock, &time)
        precondition(status == 0, "clock_gettime failed.")
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
