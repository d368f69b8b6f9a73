import Synchronization

/// The counts of one mode that a reading has shown: none shows less later.
///
/// **Design.** Accesses that take place at another guard are taken back, so the sums of the words
/// can fall, and one that is read meanwhile can even be below 0. Relaxed: each count is alone.
final class ShownCounts: Sendable {
    private let acquisitions = Atomic<Int64>(0)
    private let contended = Atomic<Int64>(0)

    /// Raises both counts to those that were shown before.
    func keep(_ acquisitions: inout UInt64, _ contended: inout UInt64) {
        Self.keep(&acquisitions, self.acquisitions)
        Self.keep(&contended, self.contended)
    }

    private static func keep(_ count: inout UInt64, _ shown: borrowing Atomic<Int64>) {
        let most = shown.max(Int64(bitPattern: count), ordering: .relaxed).newValue
        count = UInt64(bitPattern: most)
    }
}
