/// How many changes the next batch is worth waiting for, by how many were in flight lately.
///
/// Without waiting, the first change that comes makes a batch alone, and all others make the next
/// one: many batches, each of which costs as much as many changes. Few are never waited for.
package struct Gathering: Sendable {
    /// Fewer changes are not waited for.
    private static let countMin = 4

    /// How much of the number is waited for.
    private let percent: Int
    /// With each batch, one part of so many fades.
    private let fading: Int
    /// The largest number of changes in flight lately.
    private var inFlightCount = 0

    package init(percent: Int, fading: Int) {
        (self.percent, self.fading) = (percent, fading)
    }

    /// How many changes are to be there; nil if none are waited for.
    package var awaitedCount: Int? {
        let count = inFlightCount * percent / 100
        return count >= Self.countMin ? count : nil
    }

    /// A batch is done.
    ///
    /// - Parameter count: How many changes it had, and how many wait for the next one.
    package mutating func finishes(inFlight count: Int) {
        inFlightCount = max(count, inFlightCount - (inFlightCount + fading - 1) / fading)
    }
}
