internal import LatchkeyVerdict

/// Rounds of short slices, after each repeat of all cases.
///
/// **Why.** On a virtual machine, modes of the processors last from fractions of a second to
/// seconds, and double or halve the speed of contended strategies. A round measures the strategies
/// of one situation one after the other within a fraction of a second, so that they meet the same
/// mode. And there are many rounds, so the median of their ratios is known to a few percent. A
/// round of several threads is left out if the time of a cache line jumps within it. Repeats stay
/// long: short slices hide a convoy, and say little about fairness.
///
/// **Participants.** The current strategy, and all that are at least a third as fast as the best
/// one of their situation, by the first repeat: slower ones need no ratio to a percent. Even if the
/// mode changes between two repeats, all strategies with two thirds of the best speed are among
/// them. The same holds for `bare-mutex`. Asynchronous strategies do not take part: the writes that
/// they have not applied at the end of a short slice would be a large part of it.
extension ComparisonRun {
    /// The share of the best speed.
    static let contenderShareMin = 1.0 / 3
    /// A slice of a slower strategy has too few operations.
    static let operationsPerSecondMin = 50_000.0
    /// The share of the cases, for the estimate of the time.
    private static let contenderShareExpected = 0.65

    var roundCount: Int { settings.repeats * roundsPerRepeat }

    /// None if nothing can be ranked.
    private var roundsPerRepeat: Int {
        settings.repeats >= ComparisonReport.Conditions.repeatsMin
            ? ComparisonReport.Rounds.perRepeat : 0
    }

    func roundSeconds(_ method: any ComparisonMethod) -> Double {
        let cases = schedule.cases.filter { !$0.isBaseline && !$0.usesPool }
        // A strategy alone is not compared with another.
        guard method.hasRounds, Set(cases.map(\.subject)).count > 1 else { return 0 }
        let seconds = cases.reduce(0) { $0 + Slice.roundSeconds(threads: $1.threads) }
        return seconds * (1 + Slice.roundWarmUpShare) * 1.1 * Self.contenderShareExpected
    }

    /// The cases of each situation that take part, by their index in the schedule.
    func contenders(_ repeats: [[ComparisonReport.Repeat]]) -> [[Int]] {
        let speeds = repeats.map { $0.first?.operationsPerSecond ?? 0 }
        let eligible = schedule.cases.indices.filter { index in
            let planned = schedule.cases[index]
            return planned.subject != .baseline(.unsynchronized) && !planned.usesPool
                && speeds[index] >= Self.operationsPerSecondMin
        }
        return schedule.workloads.flatMap { workload in
            settings.threads.map { threads in
                let cases = eligible.filter {
                    schedule.cases[$0].workload == workload && schedule.cases[$0].threads == threads
                }
                let strategies = cases.filter { !schedule.cases[$0].isBaseline }
                guard let best = strategies.map({ speeds[$0] }).max() else { return [] }
                return cases.filter {
                    speeds[$0] >= Self.contenderShareMin * best
                        || schedule.cases[$0].subject == .strategy(settings.currentStrategy)
                }
            }
        }.filter { cases in cases.count { !schedule.cases[$0].isBaseline } > 1 }
    }

    /// Takes as many rounds again of some strategies.
    ///
    /// A question that is undecided after a run needs a narrower interval. These rounds are of few
    /// strategies, so they take a small part of the run's time. They are one more look at the same
    /// question, in which an interval can err; there is no third look.
    func lookAgain(at names: [String], _ course: inout Course) {
        guard !names.isEmpty else { return }
        let subjects = names.map { CaseSubject.strategy(StrategyName(rawValue: $0)) }
        for index in schedule.repeats..<(2 * schedule.repeats) {
            guard measureRounds(ofRepeat: index, among: subjects, &course) else { return }
        }
    }

    /// Takes the rounds after a repeat, of these or all; false if the run ends there.
    ///
    /// Rounds after the last repeat are beyond the plan.
    func measureRounds(
        ofRepeat repeatIndex: Int,
        among subjects: [CaseSubject]? = nil,
        _ course: inout Course
    ) -> Bool {
        guard course.method.hasRounds else { return true }
        let isPlanned = repeatIndex < schedule.repeats
        let count = isPlanned ? roundCount : 2 * roundCount
        let contenders = contenders(course.measured.repeats).map { cases in
            cases.filter { subjects?.contains(schedule.cases[$0].subject) ?? true }
        }.filter { $0.count > 1 }
        for index in 0..<roundsPerRepeat {
            let round = repeatIndex * roundsPerRepeat + index
            for situation in contenders {
                guard !course.isInterrupted() else { return false }
                let order = Self.order(ofRound: round, situation)
                let cases = order.map { schedule.cases[$0] }
                course.begin(
                    "round \(round + 1) of \(count), "
                        + FigureText.counted(cases[0].threads, "thread")
                )
                do throws(RoundFailure) {
                    let found = try course.method.measureRound(cases, roundIndex: round)
                    // One thread hands no line to another.
                    let isMoved =
                        cases[0].threads > 1
                        && ComparisonReport.CacheLine.jumps(found.flatMap(\.lineNanoseconds))
                    // The reading after a slice is also the one before the next slice.
                    course.measured.lineReadings += found.first?.lineNanoseconds.prefix(1) ?? []
                    for (index, var slice) in zip(order, found) {
                        slice.isMoved = isMoved
                        course.measured.shortSlices[index, default: []].append(slice)
                        course.measured.lineReadings += slice.lineNanoseconds.suffix(1)
                    }
                } catch {
                    course.measured.note(error.cause, error.planned)
                    return false
                }
            }
            if isPlanned { course.clock.finish(roundSeconds(course.method)) }
        }
        return true
    }

    /// Rotated, and every other one backwards, so that no strategy always follows the same one.
    static func order(ofRound round: Int, _ cases: [Int]) -> [Int] {
        let start = round / 2 % cases.count
        let rotated = Array(cases[start...] + cases[..<start])
        return round.isMultiple(of: 2) ? rotated : rotated.reversed()
    }
}

extension ComparisonReport.Rounds {
    /// How far the median of the rounds may be from that of the repeats.
    static let factorMax = 1.5
    /// How far the two modes of the repeats may be apart: few repeats often look like two modes.
    static let modesFactorMax = 2.0
    /// Fewer slices decide nothing.
    package static let countedMin = 20
    /// Fewer slices are not compared with a repeat.
    private static let slicesMin = 5

    /// The short slices of a case, if they say the same as its repeats.
    ///
    /// A lock that falls into a convoy in a long slice does not do so in a short one, and one with
    /// modes of its own has them for longer than a short slice. So the repeats are checked for two
    /// modes, and for another median than that of slices with about the same time of a cache line.
    /// If either is found, the repeats are right.
    ///
    /// Rounds in which the processors were moved are left out if enough others are left: half of
    /// all, and enough to decide.
    init?(_ slices: [SliceResult], beside repeats: [ComparisonReport.Repeat]) {
        let moved = slices.indices.filter { slices[$0].isMoved }
        let left = slices.count - moved.count
        let isEnough = left >= Self.countedMin && 2 * left >= slices.count
        self.init(
            operationsPerSecond: slices.map { $0.operationsPerSecond.rounded() },
            leftOut: moved.isEmpty || !isEnough ? nil : Set(moved)
        )
        guard counted.count >= Self.countedMin else { return nil }
        let all = Statistics.median(counted)
        let speeds = repeats.counted.map { found in
            let line = found.lineNanoseconds ?? []
            let alike = slices.indices.filter { index in
                counts(index)
                    && !ComparisonReport.CacheLine.jumps(line + slices[index].lineNanoseconds)
            }.map { slices[$0].operationsPerSecond }
            let short = alike.count >= Self.slicesMin ? Statistics.median(alike) : all
            // As if a line had taken as long as beside most slices.
            return found.operationsPerSecond * all / max(short, Modes.valueMin)
        }
        let ratio = all / max(Statistics.median(speeds), Modes.valueMin)
        guard ratio <= Self.factorMax, 1 / ratio <= Self.factorMax,
            Modes(speeds).map({ $0.better <= Self.modesFactorMax * $0.worse }) ?? true
        else { return nil }
    }
}
