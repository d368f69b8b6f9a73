/// The places of a meter's figures in a thread's words.
///
/// The words of the uncontended path are together in the first cache line.
@usableFromInline enum MeterLayout {
    // How many entries of a mode the thread has asked for, and the count at which the next of
    // them is to be looked at more closely.
    @inlinable static func acquisitions(_ isWrite: Bool) -> Int { isWrite ? 2 : 0 }
    @inlinable static func nextTimed(_ isWrite: Bool) -> Int { isWrite ? 3 : 1 }
    /// Exclusive entries of this thread that came after one of another thread.
    @inlinable static var handOffs: Int { 4 }
    /// Blocked entries that began here less those that ended here.
    ///
    /// An asynchronous access begins and ends on two threads: only the sum over the threads is a
    /// number of waiters.
    static let waiting = 5
    static let random = 6
    /// The contended entries up to the next one that a profile records; 0 before the first one.
    static let untilProfiled = 7

    /// The words of one mode.
    struct Mode {
        let first: Int

        init(_ isWrite: Bool) {
            first = isWrite ? 8 + Self.count : 8
        }

        static let count = durations + 2 * HistogramWords.count
        private static let durations = 4

        /// The number of acquisitions when the last one was timed.
        var lastTimed: Int { first }
        var contended: Int { first + 1 }
        /// Nanoseconds that contended entries waited, scaled up.
        var waited: Int { first + 2 }
        /// The entries that were asked for here and took place at another guard.
        ///
        /// A word of its own, because samples are drawn by the number of entries that were asked
        /// for.
        var withdrawn: Int { first + 3 }
        var wait: HistogramWords { HistogramWords(first: first + Self.durations) }
        var hold: HistogramWords {
            HistogramWords(first: first + Self.durations + HistogramWords.count)
        }
    }

    /// The words of a wait or a hold histogram.
    struct HistogramWords {
        let first: Int

        static let count = 5 + DurationBuckets.count

        /// The number of times that were taken, whatever each stands for.
        var timed: Int { first }
        var sum: Int { first + 1 }
        /// Longest since the reset whose number is packed with it.
        var maxSinceReset: Int { first + 2 }
        /// Longest in the window whose number is packed with it, for even and for odd windows.
        func maxInWindow(_ window: UInt64) -> Int { first + 3 + Int(window & 1) }
        func bucket(_ index: Int) -> Int { first + 5 + index }
    }

    static let count = 8 + 2 * Mode.count
}

/// A maximum and the number of the period it belongs to, in one word, so that raising it is one
/// comparison: a later period's maximum is greater than any of an earlier one.
enum PeriodMax {
    private static let durationBits: UInt64 = 42

    /// Longer durations count as this one: 73 minutes.
    static let durationMax: UInt64 = 1 << durationBits - 1

    /// The period's number keeps 22 bits: enough for 8 years of minutes.
    static func pack(period: UInt64, nanoseconds: UInt64) -> UInt64 {
        period << durationBits | min(nanoseconds, durationMax)
    }

    /// The maximum, 0 if the word is of another period.
    static func unpack(_ word: UInt64, period: UInt64) -> UInt64 {
        pack(period: period, nanoseconds: word & durationMax) == word ? word & durationMax : 0
    }
}
