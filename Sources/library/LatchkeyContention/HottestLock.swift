/// The lock that makes a program wait most, in the one sentence that all reports have.
///
/// `LockMeters.report`, `GET /v1/contention`, the dashboard and `latchkey advise` say it.
package struct HottestLock: Sendable, Equatable {
    /// The times for which the lock was held.
    package struct Hold: Sendable, Equatable {
        package var p99: Duration
        package var max: Duration

        package init(p99: Duration, max: Duration) {
            (self.p99, self.max) = (p99, max)
        }
    }

    /// With its strategy: `'sessions' (adaptive)`.
    package var name: String
    /// The time that contended accesses waited for it.
    package var waited: Duration
    /// The time that they waited for all locks.
    package var waitedForAll: Duration
    /// Nil if it was not measured.
    package var hold: Hold?
    /// Whether `hold` is that of all locks together.
    package var holdIsOfAll: Bool

    /// Nil if nothing waited.
    package init?(
        _ name: String,
        waited: Duration,
        of waitedForAll: Duration,
        hold: Hold?,
        holdIsOfAll: Bool = false
    ) {
        guard waited > .zero else { return nil }
        self.name = name
        self.waited = waited
        self.waitedForAll = max(waited, waitedForAll)
        self.hold = hold
        self.holdIsOfAll = holdIsOfAll
    }

    package var sentence: String {
        // Rounded down: only one that has all of it has 100 %.
        let percent = Int(waited / waitedForAll * 100)
        let held = hold.map {
            " \(holdIsOfAll ? "The locks are" : "It is") held for up to \(Self.text($0.max)), "
                + "and for \(Self.text($0.p99)) at p99."
        }
        return "Hottest: \(name) has \(percent == 0 ? "less than 1" : "\(percent)") % of the total "
            + "wait, \(Self.text(waited)).\(held ?? "")"
    }

    /// In the unit that leaves at most three digits before the point.
    package static func text(_ duration: Duration) -> String {
        let nanoseconds = duration / .nanoseconds(1)
        let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]
        let (unit, size) = units.last { nanoseconds >= $0.1 } ?? units[0]
        let tenths = (nanoseconds / size * 10).rounded() / 10
        return size == 1 ? "\(Int(nanoseconds)) ns" : "\(tenths) \(unit)"
    }
}

extension ContentionReport {
    /// The sentence about the lock for which requests waited longest.
    ///
    /// Only the strategy that serves now counts, whose row is the first one: the waits of others
    /// are past.
    static func hottest(_ rows: [Row]) -> String? {
        guard let row = rows.first(where: { $0.role == .serving }) else { return nil }
        let all = Duration.nanoseconds(row.waitTotalNanoseconds)
        let hold = row.hold.all.map {
            HottestLock.Hold(
                p99: .nanoseconds($0.p99Nanoseconds),
                max: .nanoseconds($0.maxNanoseconds)
            )
        }
        let lock =
            if let stripe = row.hottestStripe, stripe.count > 1 {
                HottestLock(
                    "stripe \(stripe.number) of \(stripe.count) (\(row.strategy))",
                    waited: .nanoseconds(stripe.waitTotalNanoseconds),
                    of: all,
                    hold: hold,
                    holdIsOfAll: true
                )
            } else {
                HottestLock("the store (\(row.strategy))", waited: all, of: all, hold: hold)
            }
        return lock?.sentence
    }
}
