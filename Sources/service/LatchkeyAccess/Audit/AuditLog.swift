internal import CLatchkeySystem
internal import Dispatch
internal import Glibc
package import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyJSON
package import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The audit log: one line of JSON for each write and each refusal.
///
/// **Design.** The thread that answers a request makes its line and adds it to the queue of a
/// ``LineWriter``, which is limited in bytes. Only the writer's thread uses the file
/// (``AuditFile``). Lines without room are counted, and a line says how many are missing.
///
/// Clients without any right can cause refusals. So only some of them in a second have a line: so
/// many of each token, and of all clients without one. One line says how many others there were.
/// The lock guards that count: writes of known callers do not take it.
package final class AuditLog: Sendable {
    /// The maximum of refusals in a second with a line: of a token, or of all clients without one.
    package static let refusalsPerSecondMax = 20
    /// The maximum of bytes that wait for the disk, besides those that are being written.
    package static let waitingByteCountMax = 4 << 20
    private static let drainMilliseconds = 2000

    private struct Refusals {
        var second: UInt64 = 0
        /// By token; clients without one count together.
        var counts: [ClientKey?: Int] = [:]
        var leftOut: UInt64 = 0
    }

    private static let linesTotal = MetricFamily(
        "latchkey_audit_lines_total",
        .counter,
        help: "Lines of the audit log, those that were dropped included."
    )
    private static let droppedTotal = MetricFamily(
        "latchkey_audit_dropped_total",
        .counter,
        help: "Lines of the audit log dropped because the disk was full or slow."
    )
    private static let leftOutTotal = MetricFamily(
        "latchkey_audit_refusals_left_out_total",
        .counter,
        help: "Refusals that were counted in the audit log and have no line of their own."
    )

    private let file: AuditFile
    private let writer: LineWriter
    private let log: Log
    private let refusals = Guarded(Refusals())
    private let lines: Counter
    private let leftOut: Counter
    private let clock: @Sendable () -> UInt64
    private let queue = DispatchQueue(label: "latchkey.audit")

    /// Opens the file.
    package init(
        path: String,
        _ registry: MetricRegistry,
        _ log: Log,
        waitingByteCountMax: Int = AuditLog.waitingByteCountMax,
        clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }
    ) throws(AuditFailure) {
        let file = try AuditFile(path, log)
        self.file = file
        self.log = log
        self.clock = clock
        writer = LineWriter(byteCountMax: waitingByteCountMax) { lines in
            file.write(lines)
            return 0
        }
        lines = registry.counter(Self.linesTotal)
        leftOut = registry.counter(Self.leftOutTotal)
        registry.collect([Self.droppedTotal]) { [writer] metrics in
            metrics.begin(Self.droppedTotal)
            metrics.sample(.none, writer.droppedTotal)
        }
    }

    // MARK: Lines

    /// Adds a line with the time and these members.
    package func append(_ members: (inout JSONWriter) -> Void) {
        lines.add()
        let line = Self.line(members)
        writer.append(line) { [log] count in
            let reason = "the disk of the audit log is full or slow"
            log.write(.warning, "audit lines dropped", ["count": "\(count)", "reason": reason])
            return Self.line { $0.member("dropped", count) }
        }
    }

    private static func line(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("time", Timestamp.ofLogs.calendarText)
            members(&json)
        }
        return json.bytes + [UInt8(ascii: "\n")]
    }

    /// Whether a refusal may have a line now; else it is counted.
    ///
    /// - Parameter token: The key of the refused client's token; nil without one. Each has a limit
    ///   of its own, so that no client keeps the refusals of another out of the log.
    /// - Returns: Whether it may.
    package func admitsRefusal(of token: ClientKey?) -> Bool {
        let second = clock() / 1_000_000_000
        let (isAdmitted, isFirst) = refusals.write { refusals in
            if refusals.second != second {
                refusals.second = second
                refusals.counts.removeAll(keepingCapacity: true)
            }
            guard refusals.counts[token, default: 0] >= Self.refusalsPerSecondMax else {
                refusals.counts[token, default: 0] += 1
                return (true, false)
            }
            refusals.leftOut += 1
            return (false, refusals.leftOut == 1)
        }
        guard !isAdmitted else { return true }
        leftOut.add()
        if isFirst {
            queue.asyncAfter(deadline: .now() + .seconds(1)) { self.sumUp() }
        }
        return false
    }

    /// Adds the line about refusals without a line.
    private func sumUp() {
        let count = refusals.write { refusals in
            defer { refusals.leftOut = 0 }
            return refusals.leftOut
        }
        guard count > 0 else { return }
        append { $0.member("refusalsLeftOut", count) }
    }

    // MARK: The file

    /// Opens the file again, after another program has moved it away.
    package func reopen() {
        do throws(AuditFailure) {
            try file.reopen()
            // Lets the writing thread take the new file, and close the old one.
            writer.append([])
            log.write(.info, "audit log opened")
        } catch {
            log.write(.error, "audit log not opened", ["reason": error.message])
        }
    }

    /// Writes the waiting lines; called at the end, when nothing is served any more.
    package func finish() {
        sumUp()
        let former = writer.droppedTotal
        guard !writer.flush(withinMilliseconds: Self.drainMilliseconds) else { return }
        let reason = "the last lines were not written within \(Self.drainMilliseconds / 1000) s"
        log.write(
            .error,
            "audit log not complete",
            ["droppedBefore": "\(former)", "reason": reason]
        )
    }

    /// Waits until all lines are written, or the time is over.
    @discardableResult
    package func flush(withinMilliseconds milliseconds: Int) -> Bool {
        writer.flush(withinMilliseconds: milliseconds)
    }

    /// How many bytes of lines wait for the disk.
    package var waitingByteCount: Int { writer.waitingByteCount }

    /// How many lines had no room.
    package var droppedCount: UInt64 { writer.droppedTotal }
}
