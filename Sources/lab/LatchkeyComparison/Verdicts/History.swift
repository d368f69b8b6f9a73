import Synchronization

/// One operation on one property, as its client saw it.
package struct RecordedOperation: Sendable, Equatable {
    package enum Action: Sendable, Equatable {
        case read(found: UInt64)
        case write(UInt64)
        case compareAndSet(expected: UInt64, new: UInt64, succeeded: Bool)
    }

    package var client: Int
    package var property: Int
    package var action: Action
    /// Taken before the operation began and after it had ended, from one ``HistoryClock``.
    package var invokedAt: UInt64
    package var respondedAt: UInt64
}

/// Numbers in the order in which they were asked for, by all threads.
///
/// **Design.** A count, not a time, because only the order matters. Acquire keeps an operation from
/// beginning before its number was taken, and release keeps it from ending after: an operation
/// whose second number is below another's first has really ended before that one began. Operations
/// that are recorded as overlapping may only have touched, so the check is never stricter than the
/// truth.
final class HistoryClock: Sendable {
    private let count = Atomic<UInt64>(0)

    func next() -> UInt64 {
        count.add(1, ordering: .acquiringAndReleasing).newValue
    }
}
