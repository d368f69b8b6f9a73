package import LatchkeyTrace

/// The part of a trace that a run replays, at the run's speed.
///
/// Keys are numbered in the order in which they come. A recorded `list` is a read of the key 0,
/// because it has no key. Sizes are not used: the section is that of `--section`.
package struct ReplayedTrace: Sendable {
    struct Operation: Sendable, Equatable {
        var key: Int
        var kind: TraceRecord.Kind
        /// From the first operation of the trace on.
        var dueNanoseconds: UInt64
    }

    let operations: [Operation]
    let keyCount: Int
    /// How long the whole trace takes; then it begins again.
    let periodNanoseconds: UInt64
    package let source: TraceSource

    /// The part of a run's time that replays the beginning of the trace without measuring.
    private static let warmUpShare = 0.1
    /// Thirty years, so that a number from a file cannot make a sum overflow.
    private static let dueNanosecondsMax = 1e18

    /// Takes a trace for a run.
    ///
    /// - Parameters:
    ///   - trace: The trace.
    ///   - file: The name of its file, for the report.
    ///   - speed: How many times faster than recorded it is replayed.
    package init(_ trace: Trace, file: String, speed: Double) {
        source = TraceSource(
            file: file,
            speed: speed,
            sampleInterval: Int(trace.header.sampleInterval),
            operations: trace.records.count,
            seconds: trace.seconds,
            isCutOff: trace.isCutOff
        )
        var numbers: [UInt32: Int] = [:]
        let start = trace.records.first?.nanoseconds ?? 0
        operations = trace.records.map { record in
            let next = numbers.count % ComparisonBounds.keysMax
            let key = record.kind == .list ? 0 : numbers[record.key, default: next]
            if record.kind != .list { numbers[record.key] = key }
            return Operation(
                key: key,
                kind: record.kind,
                dueNanoseconds: UInt64(
                    min(Double(record.nanoseconds - start) / speed, Self.dueNanosecondsMax)
                )
            )
        }
        keyCount = max(1, min(numbers.count, ComparisonBounds.keysMax))
        let last = operations.last?.dueNanoseconds ?? 0
        periodNanoseconds = last + max(1, last / UInt64(max(1, operations.count - 1)))
    }

    /// The times of the operations that a repeat of this length measures: those after its warm-up.
    func measuredWindow(seconds: Double) -> Range<UInt64> {
        let start = UInt64(seconds * Self.warmUpShare * 1e9)
        return start..<start + UInt64(seconds * 1e9)
    }

    /// Puts the workload of the trace into the settings.
    ///
    /// A repeat measures at most the rest of the trace after the warm-up.
    package func apply(to settings: inout ComparisonSettings) {
        let whole = Double(periodNanoseconds) / 1e9 / (1 + Self.warmUpShare)
        settings.durationSeconds = min(settings.durationSeconds, whole)
        let window = measuredWindow(seconds: settings.durationSeconds)
        let measuredCount = operations.count { window.contains($0.dueNanoseconds) }
        let reads = operations.count { !$0.kind.isWrite }
        settings.trace = source
        settings.readRatios = [Double(reads) / Double(max(1, operations.count))]
        settings.outside = [OutsideWork(nanoseconds: 0, scalesWithThreads: false)]
        settings.keys = [keyCount]
        settings.skews = [.uniform]
        settings.arrival = .recorded(
            operationsPerSecond: max(1, Double(measuredCount)) / settings.durationSeconds
        )
    }
}
