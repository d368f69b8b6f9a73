import Foundation
public import LatchkeyStrategies
import Synchronization

/// Readers see the value from before a write, but not at once: some wait for writers, for a while.
public typealias LateReader<Base: Strategy> = ObservedStrategy<Base, LateObserver>

/// Keeps readers waiting before they enter.
///
/// **Design.** Writers count themselves; readers only look at the counts, in relaxed order.
public final class LateObserver: EntryObserver {
    /// The event that a reader waits for.
    public enum Patience: Sendable {
        /// A moment in which no writer is inside.
        case untilWritersLeave
        /// Nothing, but it waits once a second writer has left.
        case onceWritersFollow
    }

    /// The note about one access.
    public struct Entry: BitwiseCopyable, Sendable {
        let writes: Bool
    }

    /// True.
    public static let isActive = true

    private let patience: Patience
    private let entered = Atomic(0)
    private let left = Atomic(0)

    /// Keeps readers waiting in this way.
    public init(_ patience: Patience) {
        self.patience = patience
    }

    /// Waits, if it is a reader that asks.
    public func asks(_ request: AccessRequest) -> Entry {
        var looks = 0
        while request.mode == .read, looks < 40, isToWait() {
            looks += 1
        }
        return Entry(writes: request.mode == .write)
    }

    private func isToWait() -> Bool {
        // Sleeps because somebody has to be late.
        usleep(1000)
        let left = left.load(ordering: .relaxed)
        return switch patience {
        case .untilWritersLeave: entered.load(ordering: .relaxed) > left
        case .onceWritersFollow: left > 1
        }
    }

    /// Does nothing.
    public func isBlocked(_ entry: inout Entry) {}

    /// Counts writers.
    public func enters(_ entry: inout Entry) {
        if entry.writes {
            entered.add(1, ordering: .relaxed)
        }
    }

    /// Counts writers.
    public func leaves(_ entry: Entry) {
        if entry.writes {
            left.add(1, ordering: .relaxed)
        }
    }

    /// Does nothing.
    public func givesUp(_ entry: Entry) {}
}
