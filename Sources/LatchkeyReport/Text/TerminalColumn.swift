internal import LatchkeyComparison

extension TerminalReport {
    /// A column of the terminal's table beside the ranked figure.
    struct Column {
        var heading: String
        /// What does not fit is left out from the greatest number down.
        var importance: Int
        var value: (ComparisonReport.Case) -> String?

        init(
            _ heading: String,
            _ importance: Int,
            _ value: @escaping (ComparisonReport.Summary) -> String?
        ) {
            self.heading = heading
            self.importance = importance
            self.value = { value($0.summary) }
        }

        /// As they stand from left to right: response, wait, hold, and what they cost.
        static func all(_ workload: ComparisonReport.Workload) -> [Column] {
            func time(_ value: Double?) -> String? { value.map(FigureText.duration) }
            func bucketed(_ value: Double?) -> String? { value.map(FigureText.quantile) }
            let isOpen = workload.arrival != .closed
            let due = [
                Column("due p50", 0) { time($0.responseFromIntendedStart?.p50Nanoseconds) },
                Column("due max", 1) { time($0.responseFromIntendedStart?.maxNanoseconds) },
            ]
            let response = [
                Column("resp p50", 2) { time($0.response?.p50Nanoseconds) },
                Column("resp p99", 2) { time($0.response?.p99Nanoseconds) },
            ]
            let alone = [
                Column("× alone", 14) {
                    $0.costAgainstUnsynchronized.map { FigureText.fixed($0, $0 < 9.95 ? 1 : 0) }
                }
            ]
            let common = [
                Column("wait p50", 9) { bucketed($0.wait?.p50Nanoseconds) },
                Column("wait p99", 4) { bucketed($0.wait?.p99Nanoseconds) },
                Column("wait max", 8) { time($0.wait?.maxNanoseconds) },
                Column("hold p50", 10) { bucketed($0.hold?.p50Nanoseconds) },
                Column("hold p99", 11) { bucketed($0.hold?.p99Nanoseconds) },
                Column("cont.", 7) { $0.contendedRatio.map(FigureText.percent) },
                Column("hand-offs/s", 12) { $0.handOffsPerSecond.map(FigureText.count) },
                Column("cpu/op", 5) { time($0.cpuSecondsPerMillionOperations.map { $0 * 1_000 }) },
                Column("vol.sw/s", 13) { $0.voluntarySwitchesPerSecond.map(FigureText.count) },
                Column("Jain", 6) { $0.jainIndex.map { FigureText.fixed($0, 2) } },
            ]
            let offered = [Column("ops/s", 3) { FigureText.count($0.operationsPerSecond.median) }]
            if isOpen { return due + response + offered + common }
            return (workload.threadMode == nil ? [] : response) + common + alone
        }

        /// The columns to try, from all of them to the most important one.
        static func choices(_ columns: [Column]) -> [[Column]] {
            columns.map(\.importance).uniqued().sorted(by: >).map { last in
                columns.filter { $0.importance <= last }
            }
        }
    }
}
