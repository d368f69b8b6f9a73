internal import LatchkeyReport
internal import LatchkeyStrategies

/// Whether a service should use another strategy, and why.
///
/// The question behind all figures is what a lock that costs nothing would give. That is the share
/// of the *busy time*, which is the service's processor time and the time in which its threads wait
/// for the lock. A strategy that spins waits on the processor, so that its waits are in both, and a
/// share of 5.3 % reads as 5 %. Only if the share is large enough are other strategies looked at:
/// their shadows, which get the same operations as the shadow of the serving strategy.
///
/// What a strategy would save is the part of the time per operation that its shadow takes less than
/// the shadow of the serving strategy, of the time that operations take at the serving lock. A
/// shadow gets an operation after the serving lock has let it through. Where that lock is jammed,
/// threads queue there, and its shadow can be contended far less: then no difference between
/// shadows says nothing. If the shadows get all operations, threads queue at them as at the lock.
///
/// Of several that are better, the one is named that `latchkey compare` prefers among those as good
/// as the best one: their intervals overlap that of the best one, and they save at least 0.8 of
/// what it saves (``gainRatioMin``). So noise decides neither the name nor most of the saving.
struct Advice: Encodable, Equatable {
    enum Verdict: String, Encodable {
        case notBottleneck = "not-bottleneck"
        case keep
        case `switch`
        /// The lock costs much, and its shadows are not contended as it is.
        case undecided
        /// The lock costs much, and nothing is known about other strategies.
        case shadowsNeeded = "shadows-needed"
        /// The lock costs much, and its waits say nothing beside those of other strategies.
        case incomparable
        case tooLittleTraffic = "too-little-traffic"
    }

    /// What another strategy would save, as shares of the busy time.
    struct Candidate: Encodable, Equatable {
        var strategy: String
        var gain: Double
        /// The 95 % interval of the gain, for all candidates together.
        var gainLow: Double
        var gainHigh: Double
        /// The number of slices of the time that it was measured in.
        var sliceCount: Int
    }

    var verdict: Verdict
    /// The strategy that serves.
    var strategy: String
    /// Where the verdict is to switch.
    var switchTo: String?
    var seconds: Double
    var operationsPerSecond: Double
    var contendedRatio: Double?
    /// Shares of the busy time.
    var waitShare: Double?
    var holdShare: Double?
    /// The part of the time of a request for properties in which it waits for the lock.
    var waitShareOfRequests: Double?
    var waitMeanNanoseconds: Double?
    /// The same of the serving strategy's shadow.
    var shadowWaitMeanNanoseconds: Double?
    var holdMeanNanoseconds: Double?
    /// A bound that 99 % of the waits do not exceed.
    var waitP99NanosecondsMax: Double?
    /// The best first.
    var candidates: [Candidate]
    /// Shadows that are not compared, because their writes are applied later.
    var incomparable: [String]
    /// Shadows that could not be recommended, because their writers copy and too few accesses read.
    var copying: [String]
    /// Figures of a debug build say nothing about the strategies.
    var isDebugBuild: Bool
    /// Whether the shadows get all operations.
    var isWholeSample: Bool
    /// Which lock makes requests wait most, in a sentence, since counting began.
    var hottest: String?

    /// Below this share of the busy time, a lock is no bottleneck, and a gain is none.
    static let shareMin = 0.05
    /// Fewer timed waits have no mean that could be trusted.
    static let timedCountMin = 50.0
    /// Fewer say nothing about noise.
    static let sliceCountMin = 5
    /// A strategy is as good as the best one only if it saves this part of what that one saves.
    static let gainRatioMin = 0.8
    /// A strategy is not recommended if its p99 wait is more than this many times as long.
    static let waitP99RatioMax = 10.0
    /// If the serving lock waits longer than its shadow by more than this, shadows are too quiet.
    static let shadowWaitRatioMax = 2.0

    init(_ seen: Observation) {
        let whole = seen.whole
        let serving = whole.serving
        // What the clock itself costs is no wait.
        let waitSeconds = max(0, serving.wait.seconds - serving.wait.count * seen.clockSeconds)
        let busySeconds = whole.processorSeconds + waitSeconds
        strategy = seen.strategy
        seconds = seen.seconds
        operationsPerSecond = serving.operations / seen.seconds
        isDebugBuild = seen.isDebugBuild
        hottest = seen.hottest
        isWholeSample = seen.isWholeSample
        incomparable = whole.shadows.keys.filter { seen.incomparable.contains($0) }.sorted()
        let readRatio = serving.operations > 0 ? serving.reads / serving.operations : 0
        copying = whole.shadows.keys.filter { name in
            name != seen.strategy && readRatio < FitnessLimits.readRatioMin
                && StrategyKind(rawValue: name)?.traits.copiesOnWrite == true
        }.sorted()
        candidates = []
        verdict = .tooLittleTraffic
        guard serving.operations >= Self.timedCountMin * Double(seen.samplingMean),
            serving.wait.count > 0, busySeconds > 0
        else { return }
        func share(_ part: Double, of whole: Double) -> Double? { whole > 0 ? part / whole : nil }
        contendedRatio = min(1, serving.contended / serving.operations)
        waitShare = waitSeconds / busySeconds
        holdShare = serving.hold.count > 0 ? serving.hold.seconds / busySeconds : nil
        waitShareOfRequests = share(waitSeconds, of: whole.requests.seconds).map { min(1, $0) }
        waitMeanNanoseconds = waitSeconds / serving.wait.count * 1e9
        shadowWaitMeanNanoseconds = whole.shadows[strategy]?.wait.mean.map {
            max(0, $0 - seen.clockSeconds) * 1e9
        }
        holdMeanNanoseconds = serving.hold.mean.map { $0 * 1e9 }
        waitP99NanosecondsMax = serving.waitBound(0.99).map { $0 * 1e9 }
        let cost = (serving.cost ?? 0) - seen.clockSeconds
        let scale = min(1, max(0, cost * serving.operations / busySeconds))
        candidates = Self.candidates(seen).map { candidate in
            var scaled = candidate
            scaled.gain *= scale
            scaled.gainLow *= scale
            scaled.gainHigh *= scale
            return scaled
        }
        if waitSeconds / busySeconds < Self.shareMin {
            verdict = .notBottleneck
        } else if seen.incomparable.contains(strategy) {
            verdict = .incomparable
        } else if whole.shadows[strategy] == nil || whole.shadows.count - incomparable.count < 2 {
            verdict = .shadowsNeeded
        } else if candidates.isEmpty {
            verdict = .tooLittleTraffic
        } else if let best = preferred(in: whole) {
            verdict = .switch
            switchTo = best.strategy
        } else {
            let ratio = (serving.wait.mean ?? 0) / (whole.shadows[strategy]?.wait.mean ?? .infinity)
            verdict = ratio > Self.shadowWaitRatioMax ? .undecided : .keep
        }
    }

    /// The one to use of the strategies that are better and may be used.
    private func preferred(in whole: Observation.Slice) -> Candidate? {
        let better = candidates.filter { candidate in
            !copying.contains(candidate.strategy) && Self.isBetter(candidate, in: whole, strategy)
        }
        return Self.preferred(of: better)
    }

    /// The most preferred one of those that are as good as the first, which saves most.
    ///
    /// As good is what saves nearly as much, with an interval that overlaps. Either alone does not
    /// do: a wide interval overlaps that of a strategy that saves many times as much, and a saving
    /// that is a little smaller can be so for sure.
    static func preferred(of better: [Candidate]) -> Candidate? {
        guard let best = better.first else { return nil }
        let asGood = better.filter {
            $0.gainHigh >= best.gainLow && $0.gain >= gainRatioMin * best.gain
        }
        // A newer service can have strategies that are not known here: they come last.
        return Preference.builtIn.lazy
            .compactMap { kind in asGood.first { $0.strategy == kind.rawValue } }
            .first ?? best
    }

    private static func isBetter(
        _ candidate: Candidate,
        in whole: Observation.Slice,
        _ strategy: String
    ) -> Bool {
        func p99(_ name: String) -> Double { whole.shadows[name]?.waitBound(0.99) ?? 0 }
        let waitMax = max(p99(strategy), 1e-6) * waitP99RatioMax
        return candidate.gainLow > 0 && candidate.gain >= shareMin
            && p99(candidate.strategy) <= waitMax
    }

    /// The part of the time per operation that each shadow saves against that of the serving
    /// strategy, the best first: negative if it takes longer.
    ///
    /// A part, because shadows are more contended than the lock that serves, or less. In each slice
    /// it is from -1 to 1, so that one holder that lost its processor for a while does not decide.
    /// The interval is that of the mean of the paired differences of the slices (Student), with the
    /// error divided by the number of candidates (Bonferroni).
    private static func candidates(_ seen: Observation) -> [Candidate] {
        let names = seen.whole.shadows.keys.filter {
            $0 != seen.strategy && !seen.incomparable.contains($0)
        }
        return names.sorted().compactMap { name -> Candidate? in
            let gains = seen.slices.compactMap { slice -> Double? in
                guard let own = slice.shadows[seen.strategy]?.cost,
                    let other = slice.shadows[name]?.cost
                else { return nil }
                return (own - other) / max(own, other, .leastNormalMagnitude)
            }
            guard gains.count >= sliceCountMin else { return nil }
            let count = Double(gains.count)
            let mean = gains.reduce(0, +) / count
            let squares = gains.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
            let error = (squares / (count - 1) / count).squareRoot()
            let distribution = StudentDistribution(freedom: count - 1)
            let width = error * distribution.quantile(tails: 0.05 / Double(names.count))
            return Candidate(
                strategy: name,
                gain: mean,
                gainLow: mean - width,
                gainHigh: mean + width,
                sliceCount: gains.count
            )
        }.sorted { $0.gain > $1.gain }
    }
}
