import Synchronization

/// The time that accesses waited for one stripe of several that share a meter.
///
/// **Design.** One atomic sum for each stripe, which its probe and the meter hold. It is written
/// where an access has waited and is timed, thus never on the uncontended path. Relaxed: the sum
/// orders nothing.
@usableFromInline package final class StripeWait: Sendable {
    private let nanoseconds = Atomic<UInt64>(0)

    var value: UInt64 { nanoseconds.load(ordering: .relaxed) }

    func add(_ waited: UInt64) {
        nanoseconds.wrappingAdd(waited, ordering: .relaxed)
    }
}

extension ContentionReport {
    /// The stripe that has most of the total wait.
    package struct HottestStripe: Codable, Sendable, Equatable {
        /// From 1.
        package var number: Int
        /// How many stripes there are.
        package var count: Int
        package var waitTotalNanoseconds: UInt64
    }
}

extension ContentionReport.HottestStripe {
    /// Nil if nothing waited.
    init?(_ waits: [UInt64]) {
        guard let most = waits.max(), most > 0, let index = waits.firstIndex(of: most) else {
            return nil
        }
        self.init(number: index + 1, count: waits.count, waitTotalNanoseconds: most)
    }
}
