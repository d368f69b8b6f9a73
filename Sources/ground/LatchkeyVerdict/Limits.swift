/// The limits beyond which a faster strategy does not replace the current one.
///
/// A limit is valid in a case only if the current strategy keeps it there: a weakness of all locks
/// in a case is no reason against one of them. Within the limits, fairness, waits and processor
/// time are advice, and decide nothing.
package struct Limits: Sendable, Equatable {
    /// The part of its fair share that the thread with the fewest operations gets.
    package var leastShare: Double?
    package var waitP99Nanoseconds: Double?
    /// Processor time of an operation.
    package var processorNanoseconds: Double?

    package init(
        leastShare: Double? = nil,
        waitP99Nanoseconds: Double? = nil,
        processorNanoseconds: Double? = nil
    ) {
        self.leastShare = leastShare
        self.waitP99Nanoseconds = waitP99Nanoseconds
        self.processorNanoseconds = processorNanoseconds
    }

    /// The least part of its fair share that every thread has to get.
    package static let shareMin = 1.0 / 3
    /// A p99 wait above this and above ``waitRatioMax`` times that of the current strategy.
    package static let waitNanosecondsMax = 1e6
    package static let waitRatioMax = 10.0
    /// Processor time of an operation above this and ``processorRatioMax`` times that of the
    /// current strategy.
    package static let processorNanosecondsMax = 1_000.0
    package static let processorRatioMax = 4.0
    /// The share of reads from which on they dominate, so that writers may copy.
    package static let readRatioMin = 0.9

    /// The first limit that is broken beside the current strategy, as a clause without its subject.
    package func breach(of current: Self, _ name: String) -> String? {
        if let leastShare, leastShare < Self.shareMin, current.leastShare ?? 1 >= Self.shareMin {
            return "leaves a thread \(FigureText.percent(leastShare)) of its share"
        }
        func time(_ value: Double) -> String { FigureText.duration(nanoseconds: value) }
        if let wait = waitP99Nanoseconds, let usual = current.waitP99Nanoseconds,
            wait > Self.waitNanosecondsMax, wait > Self.waitRatioMax * usual
        {
            return "has a p99 wait of \(time(wait)) (`\(name)` \(time(usual)))"
        }
        if let own = processorNanoseconds, let usual = current.processorNanoseconds,
            own > Self.processorNanosecondsMax, own > Self.processorRatioMax * usual
        {
            return "takes \(time(own)) of processor time per operation (`\(name)` \(time(usual)))"
        }
        return nil
    }
}

/// Which of several equally good strategies is preferred.
///
/// By traits, never by figures or names, so that noise does not change it:
/// 1. strategies of the platform before ours, or a program's own;
/// 2. those that block before those that spin and then block, and these before those that only
///   poll;
/// 3. plain ones before those that copy the value or apply writes later;
/// 4. those that promise less: code can come to rely on each further promise;
/// 5. the order of `latchkey strategies`, and of the command line.
package struct Preference: Sendable, Comparable {
    package var comesWithPlatform: Bool
    package var spins: Bool
    package var keepsPolling: Bool
    package var copiesOnWrite: Bool
    package var appliesLater: Bool
    /// How many promises it makes.
    package var promises: Int
    package var order: Int

    package init(
        comesWithPlatform: Bool = false,
        spins: Bool = false,
        keepsPolling: Bool = false,
        copiesOnWrite: Bool = false,
        appliesLater: Bool = false,
        promises: Int = 0,
        order: Int = 0
    ) {
        (self.comesWithPlatform, self.spins) = (comesWithPlatform, spins)
        (self.keepsPolling, self.copiesOnWrite) = (keepsPolling, copiesOnWrite)
        (self.appliesLater, self.promises, self.order) = (appliesLater, promises, order)
    }

    private var rank: [Int] {
        [
            comesWithPlatform ? 0 : 1,
            keepsPolling ? 2 : spins ? 1 : 0,
            copiesOnWrite || appliesLater ? 1 : 0,
            promises,
            order,
        ]
    }

    /// The preferred one first.
    package static func < (one: Self, other: Self) -> Bool {
        one.rank.lexicographicallyPrecedes(other.rank)
    }
}
