import LatchkeySync

/// What is measured in a case: a strategy, or one of the baselines.
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
    var threads: Int
    var workload: ComparisonReport.Workload

    var label: String {
        "\(subject.name), \(FigureText.counted(threads, "thread"))"
    }
}

/// All cases of a run, and the order in which they are measured.
struct Schedule: Sendable {
    let workloads: [ComparisonReport.Workload]
    let cases: [PlannedCase]
    let repeats: Int

    init(_ settings: ComparisonSettings) {
        repeats = settings.repeats
        workloads = Self.workloads(settings)
        cases = workloads.flatMap { workload in
            Self.cases(settings, workload)
        }
    }

    /// The cases of one repeat, by their index.
    ///
    /// Each repeat measures every case once, and begins further into the list than the one before,
    /// so that what drifts (heat, a neighbour's load) meets every strategy, and no case always has
    /// the same one ahead of it.
    func order(ofRepeat index: Int) -> [Int] {
        guard !cases.isEmpty else { return [] }
        let start = index * cases.count / max(1, repeats)
        let rotated = Array(start..<cases.count) + Array(0..<start)
        return index.isMultiple(of: 2) ? rotated : rotated.reversed()
    }

    private static func workloads(
        _ settings: ComparisonSettings
    ) -> [ComparisonReport.Workload] {
        var all: [ComparisonReport.Workload] = []
        for readRatio in settings.readRatios {
            for section in settings.sectionNanoseconds {
                for outside in settings.outside {
                    for keys in settings.keys {
                        for skew in keys == 1 ? [.uniform] : settings.skews {
                            for stripes in settings.stripes {
                                all.append(
                                    ComparisonReport.Workload(
                                        readRatio: readRatio,
                                        sectionNanoseconds: section,
                                        outside: outside,
                                        keys: keys,
                                        skew: skew,
                                        stripes: stripes,
                                        arrival: settings.arrival
                                    )
                                )
                            }
                        }
                    }
                }
            }
        }
        return all
    }

    private static func cases(
        _ settings: ComparisonSettings,
        _ workload: ComparisonReport.Workload
    ) -> [PlannedCase] {
        var cases = [
            PlannedCase(subject: .baseline(.unsynchronized), threads: 1, workload: workload)
        ]
        for threads in settings.threads {
            cases.append(
                PlannedCase(
                    subject: .baseline(.pthreadMutex),
                    threads: threads,
                    workload: workload
                )
            )
            for kind in settings.strategies {
                cases.append(
                    PlannedCase(subject: .strategy(kind), threads: threads, workload: workload)
                )
            }
        }
        return cases
    }
}
