import CLatchkeySystem
package import Foundation
public import LatchkeyMetrics
public import LatchkeySync
import Synchronization

/// The cost of one strategy in one role, or at one named lock, so far.
///
/// One meter serves all guards (stripes) of a strategy; each guard has its own ``ContentionProbe``,
/// which writes here.
///
/// **Design.** Every figure is in words that belong to one thread (``PerThreadCounters``), written
/// with plain relaxed stores and added up for a reading. Nothing in the meter locks, except that
/// ``reset()`` and a report exchange the baseline under a lock that no access takes. The figures
/// only grow, as Prometheus' counters must; a reset remembers what they were, and the report
/// subtracts that. Maxima cannot be subtracted: each is kept with the number of its period, and one
/// of an earlier period reads as 0.
///
/// An acquisition is counted when it is asked for. One that takes place at another guard is taken
/// back (``ContentionProbe/beginsAgain(_:)``), perhaps after a scrape has shown it: then the counts
/// stay as shown until as many others have come. A reading may hold a part of an access that takes
/// place meanwhile: acquisitions without their wait, and a sum without its count.
@usableFromInline package final class ContentionMeter: Sendable {
    /// ``Strategy/name``.
    package let strategy: String
    /// The name of the lock, where the locks of a program are told apart.
    package let lock: String?
    package let traits: StrategyTraits
    package let role: MeterRole
    package let level: MeteringLevel
    /// N, if one acquisition in N is timed on average, for each thread and mode.
    ///
    /// 1 for `full`, 0 where not every acquisition has a chance to be timed.
    package let samplingMean: Int
    /// Records who waits for whom, if the program wants that.
    package let profile: ContentionProfile?
    /// The meter's lock in the profile.
    let profiledLock: Int

    @usableFromInline let words = PerThreadCounters(wordCount: MeterLayout.count)
    private let shown = (read: ShownCounts(), write: ShownCounts())
    private let resets = Atomic<UInt64>(0)
    private let baseline: Guarded<Baseline>
    private let measuredOverhead = Guarded<MeteringOverhead?>(nil)
    private let stripes = Guarded<[StripeWait]>([])

    private struct Baseline: Sendable {
        var reading = ContentionReading()
        var stripeWaits: [UInt64] = []
        var since = Date()
    }

    /// How long the window of `latchkey_lock_wait_max_seconds` is: the gauge shows the longest of
    /// the current and the one before, that is, of the last one to two minutes.
    ///
    /// A scraper that comes once a minute misses nothing, and several scrapers do not disturb each
    /// other.
    static let windowNanoseconds: UInt64 = 60_000_000_000

    /// Makes a meter without figures.
    ///
    /// The sampling mean is for level `sampled` only.
    package init(
        strategy: String,
        lock: String? = nil,
        traits: StrategyTraits,
        role: MeterRole = .serving,
        level: MeteringLevel,
        samplingMean: Int = MeteringLevel.samplingMeanDefault,
        profile: ContentionProfile? = nil
    ) {
        precondition(level != .off, "A strategy that is not metered has no meter.")
        precondition((1...(1 << 30)).contains(samplingMean), "The sampling mean is from 1 to 2^30.")
        self.strategy = strategy
        self.lock = lock
        self.traits = traits
        self.role = role
        self.level = level
        self.samplingMean =
            switch level {
            case .off, .counts: 0
            case .sampled: samplingMean
            case .full: 1
            }
        self.profile = profile
        profiledLock = profile?.add(lock: lock, strategy: strategy) ?? 0
        baseline = Synchronized(Baseline())
    }

    /// Makes a meter of a strategy, which can be registered under another name than its own.
    @usableFromInline package convenience init<Base: Strategy>(
        _ strategy: Base.Type,
        as name: String = Base.name,
        lock: String? = nil,
        role: MeterRole = .serving,
        level: MeteringLevel,
        samplingMean: Int = MeteringLevel.samplingMeanDefault,
        profile: ContentionProfile? = nil
    ) {
        self.init(
            strategy: name,
            lock: lock,
            traits: Base.traits,
            role: role,
            level: level,
            samplingMean: samplingMean,
            profile: profile
        )
    }

    /// Whether contended acquisitions are counted one by one.
    ///
    /// A lock that is never tried does not tell of waiting. Its figure is a guess from a look at
    /// the holder; see ``ContentionProbe``.
    package var countsContendedExactly: Bool { traits.tellsOfWaiting }

    /// The cost of metering, if it was measured.
    package var overhead: MeteringOverhead? {
        get { measuredOverhead.read { $0 } }
        set { measuredOverhead.write { $0 = newValue } }
    }

    /// The number of ``reset()``s so far.
    ///
    /// Relaxed: a maximum that arrives during a reset may count for either side.
    var resetCount: UInt64 { resets.load(ordering: .relaxed) }

    /// Starts the figures of the report again.
    ///
    /// Prometheus' counters go on.
    package func reset() {
        let now = reading
        let stripeWaits = stripes.read { $0 }.map(\.value)
        baseline.write { baseline in
            resets.wrappingAdd(1, ordering: .relaxed)
            baseline = Baseline(reading: now, stripeWaits: stripeWaits, since: Date())
        }
    }

    /// Everything since the meter was made.
    package var reading: ContentionReading {
        var reading = ContentionReading(words, reset: resetCount, window: Self.window())
        shown.read.keep(&reading.read.acquisitions, &reading.read.contended)
        shown.write.keep(&reading.write.acquisitions, &reading.write.contended)
        return reading
    }

    /// The acquisitions of both modes since the meter was made, and the contended ones.
    var counts: (acquisitions: UInt64, contended: UInt64) {
        var counts: (acquisitions: UInt64, contended: UInt64) = (0, 0)
        for (isWrite, shown) in [(false, shown.read), (true, shown.write)] {
            let mode = MeterLayout.Mode(isWrite)
            let asked = words.sum(at: MeterLayout.acquisitions(isWrite))
            var acquisitions = asked &- words.sum(at: mode.withdrawn)
            var contended = words.sum(at: mode.contended)
            shown.keep(&acquisitions, &contended)
            counts.acquisitions &+= acquisitions
            counts.contended &+= contended
        }
        return counts
    }

    /// Everything since the last reset, or since the meter was made, and when that was.
    package var readingSinceReset: (reading: ContentionReading, since: Date) {
        // The baseline first: the reading then has everything that the baseline has.
        let baseline = baseline.read { $0 }
        return (reading.subtracting(baseline.reading), baseline.since)
    }

    /// The time that contended accesses waited since the last reset, scaled up.
    package var waitedNanoseconds: UInt64 {
        let reading = readingSinceReset.reading
        return reading.read.waitedNanoseconds &+ reading.write.waitedNanoseconds
    }

    /// Adds a stripe whose waits are told apart.
    @usableFromInline package func addStripe() -> StripeWait {
        let stripe = StripeWait()
        stripes.write { $0.append(stripe) }
        return stripe
    }

    /// The same for each stripe, in the order in which they were added.
    var stripeWaitsSinceReset: [UInt64] {
        let earlier = baseline.read { $0.stripeWaits }
        return stripes.read { $0 }.enumerated().map { index, stripe in
            stripe.value &- (index < earlier.count ? earlier[index] : 0)
        }
    }

    static func window(_ now: UInt64 = latchkey_system_nanoseconds()) -> UInt64 {
        now / windowNanoseconds
    }
}
