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
        package var wait = Durations()
        package var hold = Durations()
    }

    package struct Durations: Sendable, Equatable {
        /// How many were timed, whatever each stands for.
        package var timed: UInt64 = 0
        package var sumNanoseconds: UInt64 = 0
        /// Longest timed one since the last reset.
        package var maxNanoseconds: UInt64 = 0
        /// Longest timed one in the current window and the one before.
        package var windowMaxNanoseconds: UInt64 = 0
        /// How many acquisitions were in each bucket, scaled up.
        package var buckets = [UInt64](repeating: 0, count: DurationBuckets.count)
    }

    package subscript(mode: AccessMode) -> Mode {
        mode == .read ? read : write
    }

    package init() {}
}

extension ContentionReading {
    init(_ words: PerThreadWords, reset: UInt64, window: UInt64) {
        self.init()
        var waiting: UInt64 = 0
        words.forEachCell { cell in
            read.add(cell, isWrite: false, reset: reset, window: window)
            write.add(cell, isWrite: true, reset: reset, window: window)
            handOffs &+= cell[ContentionWords.handOffs]
            waiting &+= cell[ContentionWords.waiting]
            let asked =
                cell[ContentionWords.acquisitions(false)] | cell[ContentionWords.acquisitions(true)]
            threads += asked == 0 ? 0 : 1
        }
        // The cells are read one after the other: an entry may have ended in a later one that did
        // not begin yet in an earlier one.
        waiters = max(0, Int(Int64(bitPattern: waiting)))
    }

    /// What came after `earlier`.
    ///
    /// Waiters, threads and maxima stay as they are.
    func subtracting(_ earlier: ContentionReading) -> ContentionReading {
        var difference = self
        difference.read.subtract(earlier.read)
        difference.write.subtract(earlier.write)
        difference.handOffs &-= earlier.handOffs
        return difference
    }
}

extension ContentionReading.Mode {
    fileprivate mutating func add(
        _ cell: PerThreadWords.Cell,
        isWrite: Bool,
        reset: UInt64,
        window: UInt64
    ) {
        let mode = ContentionWords.Mode(isWrite)
        acquisitions &+= cell[ContentionWords.acquisitions(isWrite)]
        contended &+= cell[mode.contended]
        wait.add(cell, mode.wait, reset: reset, window: window)
        hold.add(cell, mode.hold, reset: reset, window: window)
    }

    fileprivate mutating func subtract(_ earlier: Self) {
        acquisitions &-= earlier.acquisitions
        contended &-= earlier.contended
        wait.subtract(earlier.wait)
        hold.subtract(earlier.hold)
    }

    /// Both modes together.
    static func + (left: Self, right: Self) -> Self {
        var both = left
        both.acquisitions &+= right.acquisitions
        both.contended &+= right.contended
        both.wait.add(right.wait)
        both.hold.add(right.hold)
        return both
    }
}

extension ContentionReading.Durations {
    fileprivate mutating func add(
        _ cell: PerThreadWords.Cell,
        _ words: ContentionWords.Durations,
        reset: UInt64,
        window: UInt64
    ) {
        var other = Self()
        other.timed = cell[words.timed]
        other.sumNanoseconds = cell[words.sum]
        other.maxNanoseconds = PeriodMax.unpack(cell[words.maxSinceReset], period: reset)
        for period in [window, window &- 1] {
            let word = cell[words.maxInWindow(period)]
            other.windowMaxNanoseconds = max(
                other.windowMaxNanoseconds,
                PeriodMax.unpack(word, period: period)
            )
        }
        for index in other.buckets.indices {
            other.buckets[index] = cell[words.bucket(index)]
        }
        add(other)
    }

    fileprivate mutating func add(_ other: Self) {
        timed &+= other.timed
        sumNanoseconds &+= other.sumNanoseconds
        maxNanoseconds = max(maxNanoseconds, other.maxNanoseconds)
        windowMaxNanoseconds = max(windowMaxNanoseconds, other.windowMaxNanoseconds)
        for index in buckets.indices {
            buckets[index] &+= other.buckets[index]
        }
    }

    fileprivate mutating func subtract(_ earlier: Self) {
        timed &-= earlier.timed
        sumNanoseconds &-= earlier.sumNanoseconds
        for index in buckets.indices {
            buckets[index] &-= earlier.buckets[index]
        }
    }
}
