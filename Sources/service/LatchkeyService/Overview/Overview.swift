internal import CLatchkeySystem
internal import Dispatch
internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyStrategies

/// The state of the service, now and in the last minutes: the figures of `GET /v1/overview`.
///
/// **Design.** A timer on a queue of its own reads the counters that a scrape reads, every few
/// seconds, and keeps a limited number of points. So a request pays nothing for it, and a page can
/// draw the last minutes at once. `state` is guarded by a lock that is held for the append or the
/// copy of the points; no counter is read under it.
final class Overview: Sendable {
    /// The sources of the figures.
    struct Sources: Sendable {
        var requests: @Sendable () -> RequestTotals
        var acquisitions: @Sendable () -> (acquisitions: UInt64, contended: UInt64)
        var gauges: @Sendable () -> Gauges
        /// The traffic that a caller may see; nil if it is not counted.
        var traffic: @Sendable (Caller) -> Traffic.Reading? = { _ in nil }
    }

    /// Figures that can be read at any time.
    struct Gauges: Sendable {
        var strategy = StrategyKind.standard
        var revision: UInt64 = 0
        var properties = 0
        var bytes = 0
        var watchers = 0
        /// Resident; nil if the system does not tell.
        var memoryBytes: Int?
    }

    /// Counters at a time.
    private struct Counts: Sendable {
        let nanoseconds: UInt64
        let requests: RequestTotals
        let acquisitions: UInt64
        let contended: UInt64
    }

    private struct State: Sendable {
        var isEnded = false
        var bounds: @Sendable () -> [ServiceBounds.Reading] = { [] }
        var last: Counts?
        var points: [(nanoseconds: UInt64, point: OverviewAnswer.Point)] = []
    }

    /// Ten minutes.
    static let pointCountMax = 120
    static let intervalSeconds = 5

    private let sources: Sources
    private let state = Guarded(State())
    private let startNanoseconds: UInt64
    private let queue = DispatchQueue(label: "latchkey.overview", qos: .utility)

    /// Begins at this time, in nanoseconds of the monotonic clock, without points.
    init(_ sources: Sources, at nanoseconds: UInt64 = latchkey_system_nanoseconds()) {
        self.sources = sources
        startNanoseconds = nanoseconds
        sample(at: nanoseconds)
    }

    /// Begins, and takes points until the service ends.
    convenience init(_ sources: Sources, in frame: ServiceFrame) {
        self.init(sources)
        start { frame.bounds.readings }
        frame.closing.at(.streams) { [self] in end() }
    }

    /// Takes a point every few seconds from now on.
    ///
    /// - Parameter bounds: Reads the limits, at each answer.
    func start(bounds: @escaping @Sendable () -> [ServiceBounds.Reading]) {
        state.write { $0.bounds = bounds }
        schedule()
    }

    /// Takes no more points.
    func end() {
        state.write { $0.isEnded = true }
    }

    private func schedule() {
        queue.asyncAfter(deadline: .now() + .seconds(Self.intervalSeconds)) { [weak self] in
            guard let self, !state.read({ $0.isEnded }) else { return }
            sample()
            schedule()
        }
    }

    /// Adds a point with the changes since the last one.
    func sample(at nanoseconds: UInt64 = latchkey_system_nanoseconds()) {
        let (acquisitions, contended) = sources.acquisitions()
        let now = Counts(
            nanoseconds: nanoseconds,
            requests: sources.requests(),
            acquisitions: acquisitions,
            contended: contended
        )
        let gauges = sources.gauges()
        state.write { state in
            defer { state.last = now }
            guard let last = state.last, last.nanoseconds < nanoseconds else { return }
            state.points.append((nanoseconds, Self.point(from: last, to: now, gauges)))
            state.points.removeFirst(max(0, state.points.count - Self.pointCountMax))
        }
    }

    private static func point(
        from last: Counts,
        to now: Counts,
        _ gauges: Gauges
    ) -> OverviewAnswer.Point {
        let seconds = Double(now.nanoseconds - last.nanoseconds) / 1e9
        // Counters are read one after the other, and only grow.
        func rate(_ former: UInt64, _ count: UInt64) -> Double {
            OverviewAnswer.rounded(Double(count - min(former, count)) / seconds)
        }
        let entries = now.acquisitions - min(last.acquisitions, now.acquisitions)
        let contended = now.contended - min(last.contended, now.contended)
        return OverviewAnswer.Point(
            ageSeconds: 0,
            seconds: OverviewAnswer.rounded(seconds),
            requestsPerSecond: rate(last.requests.all, now.requests.all),
            clientErrorsPerSecond: rate(last.requests.clientErrors, now.requests.clientErrors),
            serverErrorsPerSecond: rate(last.requests.serverErrors, now.requests.serverErrors),
            acquisitionsPerSecond: rate(last.acquisitions, now.acquisitions),
            contendedRatio: entries == 0
                ? nil
                : OverviewAnswer.rounded(min(1, Double(contended) / Double(entries)), 1e6),
            properties: gauges.properties,
            watchers: gauges.watchers,
            memoryBytes: gauges.memoryBytes
        )
    }

    /// The figures at a time that this caller may see, and the points so far, the oldest first.
    func answer(
        to caller: Caller = .anybody,
        at nanoseconds: UInt64 = latchkey_system_nanoseconds(),
        date: Date = Date()
    ) -> OverviewAnswer {
        let (gauges, requests) = (sources.gauges(), sources.requests())
        let (readBounds, points) = state.read { ($0.bounds, $0.points) }
        let bounds = readBounds().sorted { $0.share > $1.share }
        func seconds(since earlier: UInt64) -> Double {
            OverviewAnswer.rounded(Double(nanoseconds - min(earlier, nanoseconds)) / 1e9)
        }
        return OverviewAnswer(
            generatedAt: date,
            uptimeSeconds: seconds(since: startNanoseconds),
            strategy: gauges.strategy.rawValue,
            revision: gauges.revision,
            properties: gauges.properties,
            bytes: gauges.bytes,
            watchers: gauges.watchers,
            memoryBytes: gauges.memoryBytes,
            requests: requests.all,
            clientErrors: requests.clientErrors,
            serverErrors: requests.serverErrors,
            bounds: bounds,
            traffic: sources.traffic(caller).map { OverviewAnswer.Traffic($0) },
            intervalSeconds: Self.intervalSeconds,
            points: points.map { nanoseconds, point in
                var point = point
                point.ageSeconds = seconds(since: nanoseconds)
                return point
            }
        )
    }
}
