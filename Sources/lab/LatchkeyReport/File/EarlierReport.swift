internal import LatchkeyComparison

/// The fact that a report of schema 2 has and one of schema 3 does not: how a service gave
/// connections to threads.
///
/// Over HTTP each workload named it. A run measured every case twice, unless one way was chosen:
/// with event loops, as services work, and with a thread for each connection, which was removed.
/// Two cases that differ in nothing else would be one now. So the figures with event loops are
/// kept, and the others are read only where there are no such figures. Either way the report says
/// so.
struct EarlierReport: Decodable {
    static let schemaName = "latchkey-comparison/2"

    private struct Workload: Decodable {
        var threadMode: String?

        var hasThreadPerConnection: Bool { threadMode == "thread-per-connection" }
    }

    private struct Entry: Decodable {
        var workload: Workload
    }

    private var baselines: [Entry]
    private var cases: [Entry]

    /// Converts the report to today's schema.
    func bringForward(_ report: inout ComparisonReport) {
        report.schema = ComparisonReport.schemaName
        guard report.settings.transport == .http else { return }
        // A run that was interrupted early has baselines only.
        let measured = (cases.isEmpty ? baselines : cases).map(\.workload.hasThreadPerConnection)
        let (hasThreads, hasEventLoops) = (measured.contains(true), measured.contains(false))
        func kept<Found>(
            _ found: [Found],
            _ entries: [Entry],
            _ workload: WritableKeyPath<Found, ComparisonReport.Workload>
        ) -> [Found] {
            zip(found, entries).compactMap { found, entry in
                guard !hasEventLoops || !entry.workload.hasThreadPerConnection else { return nil }
                var found = found
                found[keyPath: workload].transport = .http
                return found
            }
        }
        report.baselines = kept(report.baselines, baselines, \.workload)
        report.cases = kept(report.cases, cases, \.workload)
        // They were decided with all of the figures. The program that shows the report decides
        // again.
        (report.crossovers, report.cliffs, report.recommendation) = ([], [], nil)
        if hasThreads {
            report.conditions.disturbances.append(
                hasEventLoops
                    ? "Figures of a service with a thread for each connection are left out: there "
                        + "is no such service any more."
                    : "The service had a thread for each connection, which it no longer has."
            )
        }
    }
}
