import LatchkeyStrategies
internal import LatchkeyVerdict

/// The subject of a case: a strategy, or one of the baselines.
enum CaseSubject: Sendable, Hashable {
    case strategy(StrategyName)
    case baseline(ComparisonReport.Baseline)

    var name: String {
        switch self {
        case .strategy(let name): name.rawValue
        case .baseline(let baseline): baseline.rawValue
        }
    }
}

/// One case that is to be measured.
struct PlannedCase: Sendable, Hashable {
    var subject: CaseSubject
    /// Or over HTTP, how many connections.
    var threads: Int
    var workload: ComparisonReport.Workload
    /// Whether operations run on other threads than the submitting ones.
    var usesPool = false

    var label: String {
        workload.transport == .http
            ? "\(subject.name), over \(FigureText.counted(threads, "connection"))"
            : "\(subject.name), \(FigureText.counted(threads, "thread"))"
    }

    var isBaseline: Bool {
        if case .baseline = subject { true } else { false }
    }
}

/// All cases of a run, and the order in which they are measured.
struct Schedule: Sendable {
    let workloads: [ComparisonReport.Workload]
    let cases: [PlannedCase]
    let repeats: Int

    init(_ settings: ComparisonSettings, _ catalogue: Catalogue = Catalogue()) {
        let workloads = Self.workloads(settings)
        repeats = settings.repeats
        self.workloads = workloads
        cases = workloads.flatMap { workload in
            Self.cases(settings).map { subject, threads in
                var planned = PlannedCase(subject: subject, threads: threads, workload: workload)
                if case .strategy(let name) = subject {
                    planned.usesPool = catalogue.traits(name).appliesWritesAsynchronously
                }
                return planned
            }
        }
    }

    /// The cases of one repeat, by their index.
    ///
    /// Each repeat measures every case once and starts further into the list than the one before.
    /// So drift (heat, a neighbour's load) affects all strategies, and no case always follows the
    /// same one.
    func order(ofRepeat index: Int) -> [Int] {
        guard !cases.isEmpty else { return [] }
        let start = index * cases.count / max(1, repeats)
        let rotated = Array(start..<cases.count) + Array(0..<start)
        return index.isMultiple(of: 2) ? rotated : rotated.reversed()
    }

    /// The product of the settings' lists.
    private static func workloads(
        _ settings: ComparisonSettings
    ) -> [ComparisonReport.Workload] {
        var all = [
            ComparisonReport.Workload(
                readRatio: 0,
                sectionNanoseconds: 0,
                outside: OutsideWork(nanoseconds: 0, scalesWithThreads: false),
                keys: 1,
                skew: .uniform,
                stripes: 1,
                arrival: settings.arrival,
                transport: settings.transport == .http ? .http : nil,
                name: settings.workload
            )
        ]
        func vary<Value>(
            _ field: WritableKeyPath<ComparisonReport.Workload, Value>,
            _ values: (ComparisonReport.Workload) -> [Value]
        ) {
            all = all.flatMap { workload in
                values(workload).map { value in
                    var varied = workload
                    varied[keyPath: field] = value
                    return varied
                }
            }
        }
        vary(\.readRatio) { _ in settings.readRatios }
        vary(\.sectionNanoseconds) { $0.name == nil ? settings.sectionNanoseconds : [0] }
        vary(\.outside) { _ in settings.outside }
        vary(\.keys) { _ in settings.keys }
        vary(\.skew) { $0.keys == 1 ? [.uniform] : settings.skews }
        vary(\.stripes) { $0.name == nil ? settings.stripes : [1] }
        return all
    }

    private static func cases(
        _ settings: ComparisonSettings
    ) -> [(subject: CaseSubject, threads: Int)] {
        let strategies = settings.strategies.map { CaseSubject.strategy($0) }
        switch settings.transport {
        case .memory:
            // The bare mutex guards a number, so it is no baseline for another value.
            let bare = settings.workload == nil ? [CaseSubject.baseline(.bareMutex)] : []
            return [(.baseline(.unsynchronized), 1)]
                + settings.threads.flatMap { threads in
                    (bare + strategies).map { ($0, threads) }
                }
        case .http:
            return settings.threads.flatMap { connections in
                ([.baseline(.httpAlone)] + strategies).map { ($0, connections) }
            }
        }
    }
}
