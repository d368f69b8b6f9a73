import LatchkeyMetrics
package import LatchkeySync

/// The figures of a meter at one moment, added up over all threads.
package struct ContentionReading: Sendable, Equatable {
    package var read = Mode()
    package var write = Mode()
    /// Exclusive entries that came after one of another thread.
    package var handOffs: UInt64 = 0
    /// Entries that are blocked now.
    package var waiters = 0
    /// Thread indices under which an entry was asked for.
    package var threads = 0

    package struct Mode: Sendable, Equatable {
        package var acquisitions: UInt64 = 0
        package var contended: UInt64 = 0
        /// The time that contended entries waited, scaled up.
        ///
        /// Less than the sum of `wait`, which has the others as well: the cost of the clock and the
        /// lock, times a million entries, is more than all the waiting of a slow lock.
        package var waitedNanoseconds: UInt64 = 0
        package var wait = Histogram()
        package var hold = Histogram()
    }

    package struct Histogram: Sendable, Equatable {
        /// The number of timed ones, whatever each stands for.
        package var timed: UInt64 = 0
        package var sumNanoseconds: UInt64 = 0
        /// Longest timed one since the last reset.
        package var maxNanoseconds: UInt64 = 0
        /// Longest timed one in the current window and the one before.
        package var windowMaxNanoseconds: UInt64 = 0
        /// The acquisitions in each bucket, scaled up.
        package var buckets = [UInt64](repeating: 0, count: DurationBuckets.count)
    }

    package subscript(mode: AccessMode) -> Mode {
        mode == .read ? read : write
    }

    package init() {}
}

extension ContentionReading {
    init(_ counters: PerThreadCounters, reset: UInt64, window: UInt64) {
        self.init()
        var waiting: UInt64 = 0
        counters.forEachCell { cell in
            let periods = (reset: reset, window: window)
            let (reads, writes) = (Mode(cell, false, periods), Mode(cell, true, periods))
            read = read + reads
            write = write + writes
            handOffs &+= cell[MeterLayout.handOffs]
            waiting &+= cell[MeterLayout.waiting]
            threads += reads.acquisitions | writes.acquisitions == 0 ? 0 : 1
        }
        // The cells are read one after the other: the reading may see the end of an entry in a
        // later cell and miss its beginning in an earlier one.
        waiters = max(0, Int(Int64(bitPattern: waiting)))
    }

    /// The figures since `earlier`.
    ///
    /// Waiters, threads and maxima stay as they are.
    func subtracting(_ earlier: ContentionReading) -> ContentionReading {
        var difference = self
        difference.read = read.combined(earlier.read, &-)
        difference.write = write.combined(earlier.write, &-)
        difference.handOffs &-= earlier.handOffs
        return difference
    }
}

extension ContentionReading.Mode {
    /// The counts of one thread.
    fileprivate init(
        _ cell: PerThreadCounters.ThreadCell,
        _ isWrite: Bool,
        _ periods: (reset: UInt64, window: UInt64)
    ) {
        let mode = MeterLayout.Mode(isWrite)
        acquisitions = cell[MeterLayout.acquisitions(isWrite)] &- cell[mode.withdrawn]
        contended = cell[mode.contended]
        waitedNanoseconds = cell[mode.waited]
        wait = ContentionReading.Histogram(cell, mode.wait, periods)
        hold = ContentionReading.Histogram(cell, mode.hold, periods)
    }

    /// The counts of both, combined; the maxima of this one.
    fileprivate func combined(
        _ other: Self,
        _ combine: (UInt64, UInt64) -> UInt64
    ) -> Self {
        var result = self
        result.acquisitions = combine(acquisitions, other.acquisitions)
        result.contended = combine(contended, other.contended)
        result.waitedNanoseconds = combine(waitedNanoseconds, other.waitedNanoseconds)
        result.wait = wait.combined(other.wait, combine)
        result.hold = hold.combined(other.hold, combine)
        return result
    }

    /// The sum of both.
    static func + (left: Self, right: Self) -> Self {
        var both = left.combined(right, &+)
        both.wait.raiseMaxima(to: right.wait)
        both.hold.raiseMaxima(to: right.hold)
        return both
    }
}

extension ContentionReading.Histogram {
    fileprivate init(
        _ cell: PerThreadCounters.ThreadCell,
        _ places: MeterLayout.HistogramWords,
        _ periods: (reset: UInt64, window: UInt64)
    ) {
        timed = cell[places.timed]
        sumNanoseconds = cell[places.sum]
        maxNanoseconds = PeriodMax.unpack(cell[places.maxSinceReset], period: periods.reset)
        for period in [periods.window, periods.window &- 1] {
            let word = cell[places.maxInWindow(period)]
            windowMaxNanoseconds = max(
                windowMaxNanoseconds,
                PeriodMax.unpack(word, period: period)
            )
        }
        buckets = buckets.indices.map { cell[places.bucket($0)] }
    }

    fileprivate func combined(
        _ other: Self,
        _ combine: (UInt64, UInt64) -> UInt64
    ) -> Self {
        var result = self
        result.timed = combine(timed, other.timed)
        result.sumNanoseconds = combine(sumNanoseconds, other.sumNanoseconds)
        result.buckets = zip(buckets, other.buckets).map(combine)
        return result
    }

    fileprivate mutating func raiseMaxima(to other: Self) {
        maxNanoseconds = max(maxNanoseconds, other.maxNanoseconds)
        windowMaxNanoseconds = max(windowMaxNanoseconds, other.windowMaxNanoseconds)
    }
}
