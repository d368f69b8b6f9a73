import CLatchkeySystem
package import Foundation
package import LatchkeyMetrics
package import LatchkeySync

/// All meters of a process, for reports and metrics, and how long each strategy of the service has
/// served.
///
/// Meters are added at start, at the first switch to a strategy, or when a comparison ends, and
/// stay. There is at most one for a strategy in a role, so that the list is limited and no two have
/// the same labels.
package final class ContentionMeters: Sendable {
    private let state = Guarded<State>(State())
    private let clock: @Sendable () -> UInt64

    private struct State: Sendable {
        var uses: [MeterUse] = []
        /// The strategy that served before the one that serves.
        var left: String?
        var backlogCount: @Sendable () -> Int = { 0 }
    }

    /// - Parameter clock: The time in nanoseconds, which a test drives.
    package init(clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }) {
        self.clock = clock
    }

    /// Adds a meter, in place of an earlier one for the same strategy in the same role.
    ///
    /// The first strategy in the role ``MeterRole/serving`` serves from now on.
    package func add(_ meter: ContentionMeter) {
        let now = clock()
        state.write { state in
            state.uses.removeAll {
                $0.meter.strategy == meter.strategy && $0.meter.role == meter.role
            }
            var use = MeterUse(meter)
            if !state.uses.contains(where: \.isOfService) { use.setServesNow(true, at: now) }
            state.uses.append(use)
        }
    }

    /// The meter of a strategy that serves, or is about to, which is made if there is none.
    package func serving(
        _ strategy: StrategyKind,
        _ make: () -> ContentionMeter
    ) -> ContentionMeter {
        let found = state.read(\.uses).first { $0.isOfService(strategy) }
        if let found { return found.meter }
        let meter = make()
        add(meter)
        return meter
    }

    /// Ends the time that a strategy has served, and begins that of another one.
    package func switched(to strategy: StrategyKind) {
        let now = clock()
        state.write { state in
            for index in state.uses.indices {
                let servesNow = state.uses[index].isOfService(strategy)
                if state.uses[index].servesNow, !servesNow {
                    state.left = state.uses[index].meter.strategy
                }
                state.uses[index].setServesNow(servesNow, at: now)
            }
        }
    }

    /// Sets the function that counts the accepted writes that are not yet applied, over all guards.
    ///
    /// They are shown for the strategy that serves: a switch lets the one that it leaves finish.
    package func observeBacklog(_ count: @escaping @Sendable () -> Int) {
        state.write { $0.backlogCount = count }
    }

    /// Begins the reports again.
    ///
    /// Prometheus' counters go on, as they must.
    package func reset() {
        let now = clock()
        state.write { state in
            for index in state.uses.indices {
                state.uses[index].reset(at: now)
            }
        }
    }

    /// The accesses to the strategies of the service since the start, and those that could not
    /// enter at once.
    ///
    /// The counters that a scrape shows, without the rest of it.
    package var servingCounts: (acquisitions: UInt64, contended: UInt64) {
        state.read(\.uses).filter(\.isOfService).map(\.meter.counts).reduce((0, 0)) {
            ($0.0 &+ $1.acquisitions, $0.1 &+ $1.contended)
        }
    }

    /// The figures since the last reset.
    ///
    /// Sums over the threads that ever were; no lock that guards state is taken.
    package func report(at date: Date = Date()) -> ContentionReport {
        let (state, now) = (state.read { $0 }, clock())
        let backlogCount = state.backlogCount()
        let rows = state.uses.map { use in
            var row = ContentionReport.Row(use.meter)
            if use.isOfService {
                row.servesNow = use.servesNow
                row.servedSeconds = Double(use.servedSinceReset(at: now)) / 1e9
            }
            row.backlog = use.servesNow ? backlogCount : 0
            return row
        }
        return ContentionReport(generatedAt: date, rows: rows)
    }

    /// Shows all meters, those added later too, in the registry's scrapes.
    ///
    /// The strategy that serves has all figures, and so has the one before it, because its last
    /// ones may not be scraped yet. Others have their counters: with the histograms of each
    /// strategy that was ever tried, a scrape would be seven times as long.
    package func register(in registry: MetricRegistry) {
        let figures = ContentionFamilies.ofLocks + ContentionFamilies.ofService
        registry.collect(figures.map { $0.family }) { [self] writer in
            let (state, now) = (state.read { $0 }, clock())
            let backlogCount = state.backlogCount()
            let readings = state.uses.map { use in
                var reading = MeterReading(use.meter)
                reading.servedNanoseconds = use.isOfService ? use.served(at: now) : nil
                reading.backlogCount = use.servesNow ? backlogCount : 0
                let wasLeftNow = use.isOfService && use.meter.strategy == state.left
                reading.hasCountersOnly = !use.servesNow && !wasLeftNow
                return reading
            }
            ContentionFamilies.write(readings, figures, to: &writer)
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
}

/// A meter, and how long its strategy has served.
private struct MeterUse: Sendable {
    let meter: ContentionMeter
    /// Since when it serves, if it does.
    private var start: UInt64?
    private var ended: UInt64 = 0
    private var beforeReset: UInt64 = 0

    init(_ meter: ContentionMeter) {
        self.meter = meter
    }

    /// Whether the strategy guards the service's state, or did so.
    var isOfService: Bool { meter.role == .serving }

    func isOfService(_ strategy: StrategyKind) -> Bool {
        isOfService && meter.strategy == strategy.rawValue
    }

    var servesNow: Bool { start != nil }

    /// In nanoseconds, since the meter was made.
    func served(at now: UInt64) -> UInt64 {
        // The clocks of two processors may differ by a little.
        ended + (start.map { now > $0 ? now - $0 : 0 } ?? 0)
    }

    /// In nanoseconds, since the last reset.
    func servedSinceReset(at now: UInt64) -> UInt64 {
        served(at: now) - min(served(at: now), beforeReset)
    }

    mutating func setServesNow(_ servesNow: Bool, at now: UInt64) {
        guard servesNow != self.servesNow else { return }
        ended = served(at: now)
        start = servesNow ? now : nil
    }

    mutating func reset(at now: UInt64) {
        beforeReset = served(at: now)
        meter.reset()
    }
}
