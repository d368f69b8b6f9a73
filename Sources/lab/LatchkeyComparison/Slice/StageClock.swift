public import Synchronization

/// The stage of a slice.
@usableFromInline
enum Stage: UInt32 {
    /// Threads arrive at the start line and wait there.
    case arriving
    /// They work, and nothing counts yet.
    case warmingUp
    case measuring
    /// They finish the operation they are in, and leave.
    case over
}

/// The start line of a slice, and its clock.
///
/// **Design.** Only the controlling thread sets the stage; the workers look at it before every
/// operation. That is one load from a cache line that changes three times in a slice and stays in
/// every processor's cache. The workers share nothing else but the compared value: each counts in
/// its own registers and reports when it stops.
@usableFromInline
final class StageClock: Sendable {
    // A cache line's distance on both sides: workers count their arrival in another one.
    private let before = InlineArray<8, UInt64>(repeating: 0)
    @usableFromInline let current = Atomic<UInt32>(Stage.arriving.rawValue)
    private let after = InlineArray<8, UInt64>(repeating: 0)
    private let startedAt = Atomic<UInt64>(0)
    private let endedAt = Atomic<UInt64>(0)
    private let arrivals = Atomic<Int>(0)

    /// Relaxed: a worker may see the next stage an instant later than it was set.
    func isStill(_ stage: Stage) -> Bool { isStill(number: stage.rawValue) }

    /// The same with the stage's number, for the timed loop: the number of a case is not known
    /// outside of this module without a call.
    @inlinable
    @inline(__always)
    func isStill(number: UInt32) -> Bool {
        current.load(ordering: .relaxed) == number
    }

    var arrivedCount: Int { arrivals.load(ordering: .acquiring) }

    func arrive() {
        arrivals.add(1, ordering: .releasing)
    }

    func advance(to stage: Stage) {
        current.store(stage.rawValue, ordering: .releasing)
    }

    /// Begins to measure at this time.
    func measure(from nanoseconds: UInt64) {
        // Releasing, by `advance`: pairs with the acquiring load in `measuringSince`.
        startedAt.store(nanoseconds, ordering: .relaxed)
        advance(to: .measuring)
    }

    /// When measuring began, as the controlling thread says.
    var measuringSince: UInt64 {
        _ = current.load(ordering: .acquiring)
        return startedAt.load(ordering: .relaxed)
    }

    /// Ends the slice at this time.
    func end(at nanoseconds: UInt64) {
        // Releasing, by `advance`: pairs with the acquiring load in `measuredUntil`.
        endedAt.store(nanoseconds, ordering: .relaxed)
        advance(to: .over)
    }

    /// When the slice ended, as the controlling thread says; 0 before that.
    var measuredUntil: UInt64 {
        _ = current.load(ordering: .acquiring)
        return endedAt.load(ordering: .relaxed)
    }
}
