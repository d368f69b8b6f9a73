internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyReport
internal import LatchkeyStrategies

extension Advice {
    /// The paragraphs of the answer: what to do, why, when that changes, and the figures.
    var paragraphs: [String] {
        [headline, reason, flip, isCostly ? hottest ?? "" : "", figures, note]
            .filter { !$0.isEmpty }
    }

    /// Whether it matters which lock is the hottest.
    private var isCostly: Bool { ![.notBottleneck, .tooLittleTraffic].contains(verdict) }

    /// What to do.
    var headline: String {
        switch verdict {
        case .notBottleneck: "Your lock is not your bottleneck: keep `\(strategy)`."
        case .keep: "Nothing better found: keep `\(strategy)`."
        case .switch:
            "Use `\(switchTo ?? "")`\(switchCopies ? ", whose writers copy the value" : ""): "
                + "it would save \(FigureText.percent(switchGain?.gain ?? 0)) of the busy time."
        case .undecided: "Your lock costs much, and shadows cannot tell which costs less."
        case .shadowsNeeded: "Your lock costs enough to try other strategies."
        case .incomparable: "\(strategy) cannot be compared with other strategies here."
        case .tooLittleTraffic: "There is too little traffic to tell: keep `\(strategy)`."
        }
    }

    /// What the switch would save.
    private var switchGain: Candidate? { candidates.first { $0.strategy == switchTo } }

    private var switchCopies: Bool {
        switchTo.flatMap(StrategyKind.init(rawValue:))?.traits.copiesOnWrite == true
    }

    /// The figure behind it.
    var reason: String {
        let waits = waitShare.map(FigureText.percent) ?? "–"
        let time = "Waiting for \(strategy) takes \(waits) of the service's busy time"
        return switch verdict {
        case .notBottleneck: "\(time), so a lock that costs nothing would save at most that."
        case .switch:
            "\(time). \(switchTo ?? "") would save \(switchGain.map(Self.gain) ?? "")."
        case .keep:
            "\(time). "
                + (candidates.first { !copying.contains($0.strategy) }.map { best in
                    best.gain > 0
                        ? "The best other one, \(best.strategy), would save \(Self.gain(best))."
                        : "The other shadows take longer than its own."
                } ?? "")
        case .shadowsNeeded:
            "\(time). Start the service with --shadow \(shadowsToTry) and ask again: shadows get a "
                + "part of the live operations and show what each strategy would save."
        case .undecided:
            "\(time). A wait is \(Self.time(waitMeanNanoseconds)) on average, but "
                + "\(Self.time(shadowWaitMeanNanoseconds)) in its own shadow: the lock lets "
                + "operations through one by one, so that its shadow is hardly contended. "
                + "\(isWholeSample ? Self.compareHint : Self.wholeSampleHint)"
        case .incomparable:
            "\(time), but its writes are applied later, so that its waits are of another kind. "
                + "'latchkey compare --transport http' compares all strategies by their answers."
        case .tooLittleTraffic:
            "\(FigureText.count(operationsPerSecond * seconds)) accesses in "
                + "\(FigureText.waitingTime(seconds: seconds)). Ask when the service is busy, or "
                + "give more --seconds."
        }
    }

    private static let compareHint =
        "More --seconds tell more: the queue is at the lock for seconds, and then at its shadow. "
        + "'latchkey compare' measures the strategies under the same contention."
    private static let wholeSampleHint =
        "Start the service with --shadow-sample 1/1 for a while, and ask again for a minute or "
        + "more (--seconds 60): then threads queue at the shadows, too."

    /// The condition under which the answer is another one.
    var flip: String {
        let least = FigureText.percent(Self.shareMin)
        switch verdict {
        case .notBottleneck:
            guard let waitShare, waitShare > 0 else { return "" }
            // Of a/(a+b), with b as it is: how many times a, for the share to be the least one.
            let times = Self.shareMin / (1 - Self.shareMin) * (1 - waitShare) / waitShare
            return "That changes when waiting takes \(least) of the busy time, which is "
                + "\(FigureText.count(times)) times as much waiting as now."
        case .switch:
            return "That changes when waiting takes less than \(least) of the busy time, or with "
                + "other traffic: ask again at other times of the day."
        case .keep:
            return "That changes when a strategy saves \(least) of the busy time or more, and its "
                + "interval does not reach 0."
        case .undecided, .shadowsNeeded, .incomparable, .tooLittleTraffic: return ""
        }
    }

    /// The measured figures.
    var figures: String {
        let time = FigureText.duration
        let parts = [
            "\(FigureText.waitingTime(seconds: seconds)) of \(strategy): "
                + "\(FigureText.count(operationsPerSecond)) accesses/s",
            contendedRatio.map { "\(FigureText.percent($0)) contended" },
            waitMeanNanoseconds.map { "wait \(time($0)) on average" },
            waitP99NanosecondsMax.map { bound in
                bound.isFinite ? "99 % of the waits at most \(time(bound))" : ""
            },
            holdMeanNanoseconds.map { "hold \(time($0)) on average" },
            holdShare.map { "\(FigureText.percent($0)) of the busy time" },
            waitShareOfRequests.map { "waiting is \(FigureText.percent($0)) of a request's time" },
        ]
        return parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: ", ") + "."
    }

    private var note: String {
        let isCompared = verdict != .notBottleneck && !incomparable.isEmpty
        return [
            isDebugBuild ? "The service is a debug build: its figures say little." : "",
            isCompared
                ? "Not compared, because they apply writes later: "
                    + incomparable.joined(separator: ", ") + "."
                : "",
            isCostly && !copying.isEmpty
                ? "Not recommended, because writers copy the value, and less than "
                    + "\(FigureText.percent(FitnessLimits.readRatioMin)) of the accesses read: "
                    + copying.joined(separator: ", ") + "."
                : "",
        ].filter { !$0.isEmpty }.joined(separator: " ")
    }

    private static func time(_ nanoseconds: Double?) -> String {
        nanoseconds.map(FigureText.duration) ?? "–"
    }

    /// The serving strategy, and the most preferred one of each way to wait and to read.
    ///
    /// Left out is what cannot be compared, what hands over in turn, which costs a change of
    /// threads for each entry of a contended lock, and what does not count its waits exactly.
    private var shadowsToTry: String {
        var ways: Set<[Bool]> = []
        let kinds = Preference.builtIn.filter { kind in
            let traits = kind.traits
            return !traits.appliesWritesAsynchronously && !traits.handsOffFairly
                && traits.blocksCaller && traits.tellsOfWaiting
                && ways.insert([
                    traits.spins, traits.keepsPolling, traits.allowsConcurrentReaders,
                    traits.copiesOnWrite,
                ]).inserted
        }
        return ([strategy] + kinds.map(\.rawValue).filter { $0 != strategy })
            .joined(separator: ",")
    }

    private static func gain(_ candidate: Candidate) -> String {
        "\(FigureText.percent(candidate.gain)) of the busy time (95 % interval "
            + "\(FigureText.percent(candidate.gainLow)) to "
            + "\(FigureText.percent(candidate.gainHigh)))"
    }
}

/// The advice as JSON.
struct AdviceFile: Encodable {
    let schema = "latchkey-advice/1"
    let url: String
    let advice: Advice
    let headline: String
    let reason: String
    let flip: String

    init(_ advice: Advice, url: String) {
        self.url = url
        self.advice = advice
        headline = advice.headline
        reason = advice.reason
        flip = advice.flip
    }

    func bytes() throws(AdviseCommand.UnusableService) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try Array(encoder.encode(self)) + Array("\n".utf8)
        } catch {
            throw AdviseCommand.UnusableService(message: "the answer has no JSON: \(error).")
        }
    }
}
