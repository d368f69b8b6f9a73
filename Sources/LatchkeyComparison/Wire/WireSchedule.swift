internal import LatchkeySync

/// The cases of a comparison over HTTP and the services that they need.
struct WireSchedule {
    /// One running service serves all cases with the same three.
    struct Service: Hashable {
        var strategy: StrategyKind
        var stripes: Int
        var mode: ThreadMode
    }

    struct Case: Hashable {
        var service: Service
        var connections: Int
        var workload: ComparisonReport.Workload
        /// Measures HTTP without any property instead.
        var isBaseline: Bool

        var label: String {
            let name =
                isBaseline
                ? ComparisonReport.httpAlone : service.strategy.rawValue
            return "\(name), over "
                + "\(FigureText.counted(connections, "connection")) "
                + "(\(service.mode.rawValue))"
        }
    }

    let cases: [Case]

    var services: [Service] { cases.map(\.service).uniqued() }

    init(_ settings: ComparisonSettings) {
        var cases: [Case] = []
        for workload in Self.workloads(settings) {
            for connections in settings.threads {
                for (index, strategy) in settings.strategies.enumerated() {
                    let service = Service(
                        strategy: strategy,
                        stripes: workload.stripes,
                        mode: workload.threadMode ?? .eventLoop
                    )
                    func add(isBaseline: Bool) {
                        cases.append(
                            Case(
                                service: service,
                                connections: connections,
                                workload: workload,
                                isBaseline: isBaseline
                            )
                        )
                    }
                    // No property is touched, so that any service will do.
                    if index == 0 { add(isBaseline: true) }
                    add(isBaseline: false)
                }
            }
        }
        self.cases = cases
    }

    private static func workloads(
        _ settings: ComparisonSettings
    ) -> [ComparisonReport.Workload] {
        var all: [ComparisonReport.Workload] = []
        for readRatio in settings.readRatios {
            for keys in settings.keys {
                for skew in keys == 1 ? [.uniform] : settings.skews {
                    for stripes in settings.stripes {
                        for mode in settings.threadModes {
                            all.append(
                                ComparisonReport.Workload(
                                    readRatio: readRatio,
                                    sectionNanoseconds: 0,
                                    outside: OutsideWork(nanoseconds: 0, scalesWithThreads: false),
                                    keys: keys,
                                    skew: skew,
                                    stripes: stripes,
                                    arrival: .closed,
                                    threadMode: mode
                                )
                            )
                        }
                    }
                }
            }
        }
        return all
    }

    /// The cases of one repeat: each begins further into the list, every second one backwards, so
    /// that what drifts meets every strategy.
    func order(ofRepeat index: Int, of repeats: Int) -> [Int] {
        let start = index * cases.count / max(1, repeats)
        let rotated = Array(start..<cases.count) + Array(0..<start)
        return index.isMultiple(of: 2) ? rotated : rotated.reversed()
    }
}
