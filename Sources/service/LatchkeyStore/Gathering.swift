/// The number of changes that the next batch waits for, by the number in flight lately.
///
/// Without waiting, the first change that comes makes a batch alone, and all others make the next
/// one: many batches, each of which costs as much as many changes. A small number is never waited
/// for.
package struct Gathering: Sendable {
    /// Fewer changes are not waited for.
    private static let countMin = 4

    /// The part of the number that is waited for.
    private let percent: Int
    /// With each batch, the number falls by one part in `fading`.
    private let fading: Int
    /// The largest number of changes in flight lately.
    private var inFlightCount = 0

    package init(percent: Int, fading: Int) {
        (self.percent, self.fading) = (percent, fading)
    }

    /// The number of changes to wait for; nil for no wait.
    package var awaitedCount: Int? {
        let count = inFlightCount * percent / 100
        return count >= Self.countMin ? count : nil
    }

    /// A batch is done.
    ///
    /// - Parameter count: The changes that it had, plus those that wait for the next one.
    package mutating func finishes(inFlight count: Int) {
        inFlightCount = max(count, inFlightCount - (inFlightCount + fading - 1) / fading)
    }
}
