import LatchkeyStrategies

/// The subject of a case: a strategy, or one of the baselines.
enum CaseSubject: Sendable, Hashable {
    case strategy(StrategyKind)
    case baseline(ComparisonReport.Baseline)

    var name: String {
        switch self {
        case .strategy(let kind): kind.rawValue
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

    var label: String {
        guard let mode = workload.threadMode else {
            return "\(subject.name), \(FigureText.counted(threads, "thread"))"
        }
        return "\(subject.name), over \(FigureText.counted(threads, "connection")) "
            + "(\(mode.rawValue))"
    }

    var isBaseline: Bool {
        if case .baseline = subject { true } else { false }
    }

    /// Whether operations run on other threads than the submitting ones.
    var usesPool: Bool {
        guard case .strategy(let kind) = subject else { return false }
        return kind.traits.appliesWritesAsynchronously
    }
}

/// All cases of a run, and the order in which they are measured.
struct Schedule: Sendable {
    let workloads: [ComparisonReport.Workload]
    let cases: [PlannedCase]
    let repeats: Int

    init(_ settings: ComparisonSettings) {
        let workloads = Self.workloads(settings)
        repeats = settings.repeats
        self.workloads = workloads
        cases = workloads.flatMap { workload in
            Self.cases(settings).map { subject, threads in
                PlannedCase(subject: subject, threads: threads, workload: workload)
            }
        }
    }

    /// Every repeat of every case, in the order in which they are taken.
    var order: [(repeatIndex: Int, caseIndex: Int)] {
        (0..<repeats).flatMap { index in
            order(ofRepeat: index).map { (index, $0) }
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
                arrival: settings.arrival
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
        vary(\.sectionNanoseconds) { _ in settings.sectionNanoseconds }
        vary(\.outside) { _ in settings.outside }
        vary(\.keys) { _ in settings.keys }
        vary(\.skew) { $0.keys == 1 ? [.uniform] : settings.skews }
        vary(\.stripes) { _ in settings.stripes }
        vary(\.threadMode) { _ in settings.transport == .http ? settings.threadModes : [nil] }
        return all
    }

    private static func cases(
        _ settings: ComparisonSettings
    ) -> [(subject: CaseSubject, threads: Int)] {
        let strategies = settings.strategies.map { CaseSubject.strategy($0) }
        switch settings.transport {
        case .memory:
            return [(.baseline(.unsynchronized), 1)]
                + settings.threads.flatMap { threads in
                    ([.baseline(.pthreadMutex)] + strategies).map { ($0, threads) }
                }
        case .http:
            return settings.threads.flatMap { connections in
                ([.baseline(.httpAlone)] + strategies).map { ($0, connections) }
            }
        }
    }
}
