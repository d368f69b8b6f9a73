internal import LatchkeyComparison
internal import LatchkeyVerdict

/// The figures of a running service, between two readings of its metrics.
struct Observation: Equatable {
    /// The strategy that serves.
    var strategy: String
    var seconds: Double
    /// The differences between the readings.
    var metrics: MetricsReading
    /// N, if one access in N was timed on average.
    var samplingMean = 1
    /// The part of a timed wait, and of a timed hold, that is the reading of the clock.
    var clockSeconds = 0.0
    /// Whether a waiting thread uses its processor for some time.
    var spins = false
    /// Whether writes wait without a thread.
    var appliesWritesLater = false
    var isDebugBuild = false
    /// The lock that makes requests wait most, in the service's own sentence.
    var hottest: String?
}

/// The figures of a service's lock, and the most that another strategy could save.
///
/// Shares are of the *busy time*: the service's processor time, and the time in which its threads
/// wait for the lock. A thread that spins waits on its processor, so these two overlap, and no
/// meter tells by how much. The busy time of a strategy that spins is therefore the least that it
/// can be: the processor time, or the time in which threads wait for the lock, if that is more. So
/// the share of the waits is never too small.
///
/// The work under the lock stays, whatever guards it. So the waits are the most that another
/// strategy could save. The meters cannot tell how much of them a strategy saves: no strategy is
/// named.
struct Advice: Encodable, Equatable {
    enum Verdict: String, Encodable {
        case tooLittleTraffic = "too-little-traffic"
        case notBottleneck = "not-bottleneck"
        case waits
    }

    var verdict = Verdict.tooLittleTraffic
    var strategy: String
    var seconds: Double
    var operationsPerSecond: Double
    var contendedRatio: Double?
    var holdMeanNanoseconds: Double?
    var waitMeanNanoseconds: Double?
    /// A limit that 99 % of the waits do not exceed.
    var waitP99NanosecondsMax: Double?
    /// A share of the busy time, as the next one.
    var holdShare: Double?
    /// Nil if writes wait without a thread.
    var waitShare: Double?
    /// The part of the time of a request for properties in which it waits for the lock.
    var waitShareOfRequests: Double?
    /// The most that another strategy could save: of the busy time, or of the time of requests if
    /// writes wait without a thread.
    var savingMax: Double?
    var isDebugBuild: Bool
    var hottest: String?

    /// Below this share, a lock is no bottleneck.
    static let shareMin = 0.05
    /// Fewer timed accesses have no reliable mean.
    static let timedCountMin = 50.0

    init(_ seen: Observation) {
        let lock = seen.metrics.serving[seen.strategy] ?? LockUse()
        strategy = seen.strategy
        seconds = seen.seconds
        operationsPerSecond = lock.operations / seen.seconds
        isDebugBuild = seen.isDebugBuild
        hottest = seen.hottest
        guard lock.operations >= Self.timedCountMin * Double(seen.samplingMean),
            let wait = lock.wait.mean, let hold = lock.hold.mean
        else { return }
        // The total of all accesses, by the mean of the timed ones.
        func total(_ mean: Double) -> Double { max(0, mean - seen.clockSeconds) * lock.operations }
        let (waited, held) = (total(wait), total(hold))
        let processor = seen.metrics.processorSeconds
        let busy =
            seen.appliesWritesLater
            ? processor : seen.spins ? max(processor, waited) : processor + waited
        let requests = seen.metrics.requests.seconds
        func share(_ part: Double, of whole: Double) -> Double? {
            whole > 0 ? min(1, part / whole) : nil
        }
        contendedRatio = share(lock.contended, of: lock.operations)
        holdMeanNanoseconds = held / lock.operations * 1e9
        waitMeanNanoseconds = waited / lock.operations * 1e9
        waitP99NanosecondsMax = lock.waitBound(0.99).map { $0 * 1e9 }
        holdShare = share(held, of: busy)
        waitShare = seen.appliesWritesLater ? nil : share(waited, of: busy)
        waitShareOfRequests = share(waited, of: requests)
        savingMax = seen.appliesWritesLater ? waitShareOfRequests : waitShare
        guard let savingMax else { return }
        verdict = savingMax < Self.shareMin ? .notBottleneck : .waits
    }

    /// The paragraphs of the answer: the possible saving, why it is not greater, and the figures.
    var paragraphs: [String] {
        guard verdict != .tooLittleTraffic else { return [headline, reason] + notes }
        return [headline, reason, figures] + (verdict == .waits ? [Self.hint] : []) + notes
    }

    private var whole: String { waitShare == nil ? "time of requests" : "busy time" }

    var headline: String {
        let saving = FigureText.percent(savingMax ?? 0)
        return switch verdict {
        case .tooLittleTraffic: "There is too little traffic to tell."
        case .notBottleneck:
            "Your lock is not your bottleneck: another strategy could save at most \(saving) of "
                + "the \(whole)."
        case .waits:
            "Your lock makes requests wait: another strategy could save at most \(saving) of the "
                + "\(whole)."
        }
    }

    /// The sentence after the limit.
    var reason: String {
        guard verdict != .tooLittleTraffic else {
            return "\(FigureText.count(operationsPerSecond * seconds)) accesses in "
                + "\(FigureText.waitingTime(seconds: seconds)). Ask when the service is busy, or "
                + "give more --seconds."
        }
        return "Waiting takes \(FigureText.percent(savingMax ?? 0)) of the \(whole), and another "
            + "strategy can do no more than end it: the work under the lock stays, whatever guards "
            + "it."
    }

    /// The lock's share by hold × rate, and its waits.
    var figures: String {
        let time = FigureText.duration
        let hold = holdMeanNanoseconds ?? 0
        let rate = FigureText.count(operationsPerSecond)
        let waits = [
            contendedRatio.map { "\(FigureText.percent($0)) contended" },
            waitMeanNanoseconds.map { "\(time($0)) on average" },
            waitP99NanosecondsMax.flatMap { $0.isFinite ? "99 % at most \(time($0))" : nil },
            waitShareOfRequests.map { "\(FigureText.percent($0)) of a request's time" },
        ].compactMap(\.self)
        return "\(FigureText.waitingTime(seconds: seconds)) of \(strategy). Hold × rate: "
            + "\(time(hold)) × \(rate)/s, that is \(time(hold * operationsPerSecond)) in each "
            + "second, or \(FigureText.percent(holdShare ?? 0)) of the busy time. Waits: "
            + "\(waits.joined(separator: ", "))."
    }

    private static let hint =
        "How much of it comes, only a run shows: where all processors are busy, it can be nothing. "
        + "'latchkey serve --record' records the traffic, and 'latchkey compare --trace' replays "
        + "it under each strategy."

    private var notes: [String] {
        (verdict == .waits ? [hottest].compactMap(\.self) : [])
            + (isDebugBuild ? ["The service is a debug build: its figures say little."] : [])
    }
}
