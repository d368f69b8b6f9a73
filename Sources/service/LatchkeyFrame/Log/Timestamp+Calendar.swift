internal import CLatchkeySystem
internal import Glibc
package import LatchkeyStore

extension Timestamp {
    /// The system's time, for logs: that of the store never goes back.
    package static var ofLogs: Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(
            milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
        )
    }

    /// The time in UTC as ISO 8601 and RFC 3339 have it, such as `2026-01-02T03:04:05.678Z`.
    ///
    /// Foundation's formats take some microseconds, which each line of a log would pay for.
    package var calendarText: String {
        var seconds = time_t(milliseconds / 1000)
        var parts = unsafe tm()
        unsafe gmtime_r(&seconds, &parts)
        let numbers = unsafe [
            (Int(parts.tm_year) + 1900, 4, "-"), (Int(parts.tm_mon) + 1, 2, "-"),
            (Int(parts.tm_mday), 2, "T"), (Int(parts.tm_hour), 2, ":"), (Int(parts.tm_min), 2, ":"),
            (Int(parts.tm_sec), 2, "."), (Int(milliseconds % 1000), 3, "Z"),
        ]
        var bytes: [UInt8] = []
        bytes.reserveCapacity(24)
        for (number, count, separator) in numbers {
            var power = 1
            for _ in 1..<count { power *= 10 }
            while power > 0 {
                bytes.append(UInt8(ascii: "0") + UInt8(number / power % 10))
                power /= 10
            }
            bytes.append(contentsOf: separator.utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
