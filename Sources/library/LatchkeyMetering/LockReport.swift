import LatchkeyContention

/// The figures of the metered locks, one row for each name and strategy.
///
/// As text it is a table, and below it a sentence that names the lock which makes the program wait
/// most.
public struct LockReport: Sendable, Equatable {
    /// The locks, the longest total wait first; then sorted by name and strategy.
    public var rows: [Row]

    init(rows: [Row]) {
        self.rows = rows.sorted { one, other in
            one.waitTotal == other.waitTotal
                ? (one.lock, one.strategy) < (other.lock, other.strategy)
                : one.waitTotal > other.waitTotal
        }
    }

    /// The figures of the locks of one name.
    public struct Row: Sendable, Equatable {
        /// The name that the program gave.
        public var lock: String
        /// ``Strategy/name``.
        public var strategy: String
        /// Accesses for reading that were asked for.
        public var readCount: UInt64
        /// Accesses for writing that were asked for.
        public var writeCount: UInt64
        /// Accesses that could not enter at once.
        ///
        /// An estimate where ``StrategyTraits/tellsOfWaiting`` is false, as for
        /// `mutex`; else exact.
        public var contendedCount: UInt64
        /// Accesses that are waiting now.
        public var waiterCount: Int
        /// The time that contended accesses waited, all together.
        ///
        /// With the level `sampled`, the first waits of each thread are all timed, and those after
        /// them are scaled up from samples. An access that gives up is left out.
        public var waitTotal: Duration
        /// Time from request to entry; nil if none was measured.
        public var wait: Times?
        /// Time from entry to exit; nil if none was measured.
        public var hold: Times?
    }

    /// Quantiles, which are up to a factor of two wrong, and the longest time that was measured.
    ///
    /// With the level `sampled`, one access in 128 is timed. None is below the cost of the clock.
    public struct Times: Sendable, Equatable {
        /// Half of the accesses took no longer.
        public var p50: Duration
        /// 99 of 100 accesses took no longer.
        public var p99: Duration
        /// The longest.
        public var max: Duration
    }
}

extension LockReport.Row {
    init(_ meter: ContentionMeter) {
        let row = ContentionReport.Row(meter)
        self.init(
            lock: meter.lock ?? "",
            strategy: row.strategy,
            readCount: row.acquisitions.read,
            writeCount: row.acquisitions.write,
            contendedCount: row.contended.all,
            waiterCount: row.waiters,
            waitTotal: .nanoseconds(meter.waitedNanoseconds),
            wait: row.wait.all.map(LockReport.Times.init),
            hold: row.hold.all.map(LockReport.Times.init)
        )
    }
}

extension LockReport.Times {
    fileprivate init(_ durations: ContentionReport.Durations) {
        self.init(
            p50: .nanoseconds(durations.p50Nanoseconds),
            p99: .nanoseconds(durations.p99Nanoseconds),
            max: .nanoseconds(durations.maxNanoseconds)
        )
    }
}

extension LockReport {
    /// The lock that makes the program wait most; nil if nothing waited.
    public var hottest: Row? {
        rows.max { $0.waitTotal < $1.waitTotal }.flatMap { $0.waitTotal > .zero ? $0 : nil }
    }

    /// The sentence below the table; nil if nothing waited.
    var culprit: String? {
        guard let hottest else { return nil }
        return HottestLock(
            "'\(hottest.lock)' (\(hottest.strategy))",
            waited: hottest.waitTotal,
            of: rows.reduce(Duration.zero) { $0 + $1.waitTotal },
            hold: hottest.hold.map { HottestLock.Hold(p99: $0.p99, max: $0.max) }
        )?.sentence
    }
}

extension LockReport: CustomStringConvertible {
    /// The table: a head, and a line for each row; and the sentence.
    public var description: String {
        let head = [
            "lock", "strategy", "reads", "writes", "contended", "wait total",
            "wait p99", "max", "hold p99", "max",
        ]
        let cells = [head] + rows.map(\.cells)
        let widths = head.indices.map { column in cells.map { $0[column].count }.max() ?? 0 }
        let lines = cells.map { line in
            zip(line, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                // Text is aligned left, numbers right.
                return column < 2 ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }
        return (lines + (culprit.map { [$0] } ?? [])).joined(separator: "\n")
    }
}

extension LockReport.Row {
    fileprivate var cells: [String] {
        [
            lock, strategy, "\(readCount)", "\(writeCount)", "\(contendedCount)",
            Self.text(waitTotal == .zero ? nil : waitTotal),
            Self.text(wait?.p99), Self.text(wait?.max), Self.text(hold?.p99), Self.text(hold?.max),
        ]
    }

    /// `-` if there is none.
    private static func text(_ duration: Duration?) -> String {
        duration.map(HottestLock.text) ?? "-"
    }
}
