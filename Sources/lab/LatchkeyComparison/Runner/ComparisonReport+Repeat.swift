import LatchkeyContention
import LatchkeyMachine

extension ComparisonReport.Repeat {
    package var operationsPerSecond: Double {
        seconds > 0 ? Double(operations) / seconds : 0
    }

    /// The result of a slice.
    ///
    /// In an open loop the threads poll until an operation is due. Polling would be most of their
    /// processor time, so that time is left out.
    init(_ result: SliceResult, index: Int, isPaced: Bool) {
        let rate = result.operationsPerSecond
        let refused = result.tallies.reduce(0) { $0 + $1.refused }
        self.init(
            index: index,
            operations: result.operations,
            seconds: rate > 0 ? Double(result.operations) / rate : 0,
            operationsPerThread: result.tallies.map(\.operations),
            response: result.responses?.fromStart.durations(),
            responseFromIntendedStart: result.responses?.fromIntended.durations(
                unbegun: result.tallies.compactMap(\.unbegun)
            ),
            startDelay: result.responses?.startDelays.durations(),
            cpuSeconds: isPaced ? nil : Double(result.usage.processorNanoseconds) / 1e9,
            voluntarySwitches: isPaced ? nil : Int(result.usage.voluntarySwitches),
            involuntarySwitches: isPaced ? nil : Int(result.usage.involuntarySwitches),
            minorFaults: Int(result.usage.minorFaults),
            majorFaults: Int(result.usage.majorFaults),
            refused: refused > 0 ? refused : nil
        )
    }

    /// Adds the figures of the metered slice of the same repeat.
    mutating func add(_ metered: SliceResult) {
        let tallies = metered.tallies
        func sum(_ count: (WorkerTally) -> Int?) -> Int? {
            let counts = tallies.compactMap(count)
            return counts.count == tallies.count ? counts.reduce(0, +) : nil
        }
        meteredOperations = metered.operations
        futexCalls = sum(\.futexCalls)
        systemCalls = sum(\.systemCalls)
        if let row = metered.contention { add(row) }
    }

    /// Adds the figures of a meter.
    mutating func add(_ row: ContentionReport.Row) {
        wait = row.wait.all.map(ComparisonReport.Durations.init)
        hold = row.hold.all.map(ComparisonReport.Durations.init)
        // Left out if it is an estimate. The estimate looks at whether a thread is inside, but a
        // lock that is handed to a sleeping thread has no thread inside most of the time.
        contended = row.contendedIsExact ? Int(row.contended.all) : nil
        handOffs = Int(row.handOffs)
    }
}
