package import Foundation
package import LatchkeyMetrics
import LatchkeySync

/// All meters of a process, of which reports and metrics are made.
///
/// Meters are added at start, or when a comparison ends, and stay. There is at most one for a
/// strategy in a role, so that the list is bounded and the labels of two never agree.
package final class ContentionMeters: Sendable {
    private let meters = Guarded<[ContentionMeter]>([])

    package init() {}

    /// Adds a meter, in place of an earlier one for the same strategy in the same role.
    package func add(_ meter: ContentionMeter) {
        meters.write { meters in
            meters.removeAll { $0.strategy == meter.strategy && $0.role == meter.role }
            meters.append(meter)
        }
    }

    /// Begins the reports anew.
    ///
    /// Prometheus' counters go on, as they must.
    package func reset() {
        for meter in all {
            meter.reset()
        }
    }

    /// How often the serving strategy was entered since the start, and how often not at once.
    ///
    /// The counters that a scrape shows, without the rest of it.
    package var servingCounts: (acquisitions: UInt64, contended: UInt64) {
        all.filter { $0.role == .serving }.map(\.counts).reduce((0, 0)) {
            ($0.0 &+ $1.acquisitions, $0.1 &+ $1.contended)
        }
    }

    /// The figures since the last reset.
    ///
    /// Sums over the threads that ever were; no lock that guards state is taken.
    package func report(at date: Date = Date()) -> ContentionReport {
        ContentionReport(generatedAt: date, rows: all.map { ContentionReport.Row($0) })
    }

    /// Shows all meters, those added later too, in the registry's scrapes.
    package func register(in registry: MetricRegistry) {
        let figures = ContentionFamilies.ofLocks + ContentionFamilies.ofService
        registry.collect(figures.map { $0.family }) { [self] writer in
            ContentionFamilies.write(all.map(MeterReading.init), figures, to: &writer)
        }
    }

    /// The figures of named locks as a scrape, in Prometheus' text format.
    package static func text(_ meters: [ContentionMeter]) -> String {
        let registry = MetricRegistry()
        let readings = meters.map(MeterReading.init)
        registry.collect(ContentionFamilies.ofLocks.map(\.family)) { writer in
            ContentionFamilies.write(readings, to: &writer)
        }
        return String(decoding: registry.text(.text), as: UTF8.self)
    }

    private var all: [ContentionMeter] { meters.read { $0 } }
}
