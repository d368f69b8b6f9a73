internal import Dispatch
internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeyStrategies

/// Reads and changes the strategy of a store.
struct StrategySwitch: Sendable {
    /// The strategy that new accesses ask.
    let kind: @Sendable () -> StrategyKind
    /// Changes the strategy, and blocks meanwhile.
    let change: @Sendable (StrategyKind) throws(SwitchRefusal) -> SwitchReport
}

extension StrategySwitch {
    /// The switch of a store, whose meters have the time that each strategy has served.
    init(_ store: PropertyStore, _ meters: ContentionMeters) {
        self.init(
            kind: { store.kind },
            change: { kind throws(SwitchRefusal) in
                let report = try store.switch(to: kind)
                if report.from != report.to { meters.switched(to: report.to) }
                return report
            }
        )
    }
}

/// The strategy that serves: which one it is, since when, and the way to switch it.
///
/// **Design.** A switch blocks, so it runs on a queue of its own. `state` lets one request switch
/// at a time, from its start until the log has its line, so that lines and times have the order of
/// the switches. A second one is refused at once, and does not wait on the queue.
final class ServingStrategy: Sendable {
    private struct State {
        var isSwitching = false
        var serving: (kind: StrategyKind, since: Timestamp)
    }

    private static let info = MetricFamily(
        "latchkey_strategy_info",
        .gauge,
        help: "The strategy that guards the properties now."
    )
    private static let switchesTotal = MetricFamily(
        "latchkey_strategy_switches_total",
        .counter,
        help: "Switches to another strategy."
    )

    /// The strategy of this start, and of the next one.
    let atStart: StrategyKind
    private let store: StrategySwitch
    private let log: Log
    private let clock: @Sendable () -> Timestamp
    private let switches: Counter
    private let state: Guarded<State>
    private let queue = DispatchQueue(label: "latchkey.strategy")

    // The clock is the calendar's, so that a test can drive it.
    init(
        _ store: StrategySwitch,
        _ registry: MetricRegistry,
        _ log: Log,
        clock: @escaping @Sendable () -> Timestamp = { .ofLogs }
    ) {
        atStart = store.kind()
        (self.store, self.log, self.clock) = (store, log, clock)
        state = Guarded(State(serving: (atStart, clock())))
        switches = registry.counter(Self.switchesTotal)
        registry.collect([Self.info]) { writer in
            writer.begin(Self.info)
            writer.sample(Labels([("strategy", store.kind().rawValue)]), UInt64(1))
        }
    }

    /// The strategy that new accesses ask.
    var kind: StrategyKind { store.kind() }

    /// The strategy of the last switch, and when it began to serve.
    var serving: (kind: StrategyKind, since: Timestamp) { state.read { $0.serving } }

    /// Switches to another strategy, or to the one that serves, which changes nothing.
    ///
    /// - Parameters:
    ///   - kind: The strategy from now on.
    ///   - completion: Called on the queue, or at once if another switch is under way.
    func `switch`(
        to kind: StrategyKind,
        completion: @escaping @Sendable (Result<SwitchReport, SwitchRefusal>) -> Void
    ) {
        let isFirst = state.write { state in
            defer { state.isSwitching = true }
            return !state.isSwitching
        }
        guard isFirst else { return completion(.failure(.underWay)) }
        queue.async { [self] in
            let result = Result { () throws(SwitchRefusal) in try store.change(kind) }
            if case .success(let report) = result, report.from != report.to { note(report) }
            state.write { $0.isSwitching = false }
            completion(result)
        }
    }

    private func note(_ report: SwitchReport) {
        let now = clock()
        state.write { $0.serving = (report.to, now) }
        switches.add()
        log.write(
            .info,
            "strategy switched",
            [
                "from": report.from.rawValue, "to": report.to.rawValue,
                "seconds": report.duration.secondsText,
                "longestHoldSeconds": report.longestHold.secondsText,
                "longestAccessSeconds": report.longestAccess.secondsText,
            ]
        )
    }
}

extension Duration {
    /// The seconds as a number of JSON.
    var secondsText: String { "\(self / .seconds(1))" }
}
