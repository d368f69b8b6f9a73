import Dispatch
import Foundation
public import LatchkeyStrategies

/// Waits with a time limit for threads that a broken strategy may never release.
///
/// **Design.** The controlling thread waits. It wakes regularly to ask whether the run was
/// interrupted. The work that it waits for runs on other threads, and is abandoned when the time is
/// over.
@usableFromInline
struct BoundedWait: Sendable {
    /// For our strategies, none of which hangs: enough for the busiest machine.
    @usableFromInline static let secondsDefault = 60.0
    /// For a program's own strategy, which may hang.
    ///
    /// The longest wait that a starving strategy has shown is under two seconds.
    static let secondsForOwn = 8.0

    let seconds: Double
    let isInterrupted: @Sendable () -> Bool

    private static let napMilliseconds = 50

    @usableFromInline
    init(
        seconds: Double = BoundedWait.secondsDefault,
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) {
        self.seconds = seconds
        self.isInterrupted = isInterrupted
    }

    /// Returns when the group is empty.
    ///
    /// - Throws: ``MeasurementFailure`` if that takes too long.
    func wait(for group: DispatchGroup) throws(MeasurementFailure) {
        let end = DispatchTime.now() + seconds
        while true {
            let nap = DispatchTime.now() + .milliseconds(Self.napMilliseconds)
            if group.wait(timeout: min(end, nap)) == .success {
                return
            }
            if isInterrupted() {
                throw .interrupted
            }
            if DispatchTime.now() >= end {
                throw .stuck
            }
        }
    }

    /// Calls `body` once for each index, on a thread of its own, and returns what each call gives
    /// to its `completion`, in the order of the indices.
    ///
    /// - Parameters:
    ///   - count: How many calls.
    ///   - body: Must call `completion` once, on any thread. Called again if it is refused.
    /// - Returns: The given values.
    /// - Throws: ``MeasurementFailure`` if that takes too long.
    @usableFromInline
    func results<Value: Sendable>(
        count: Int,
        _ body:
            @escaping @Sendable (
                _ index: Int, _ completion: @escaping @Sendable (Value) -> Void
            ) throws(BacklogFull) -> Void
    ) throws(MeasurementFailure) -> [Value] {
        let found = Guarded<[Int: Value]>([:])
        let completed = DispatchGroup()
        for _ in 0..<count {
            completed.enter()
        }
        Thread.detachNewThread {
            for index in 0..<count {
                let completion = { @Sendable (value: Value) in
                    found.write { $0[index] = value }
                    completed.leave()
                }
                while (try? body(index, completion)) == nil {
                    sched_yield()
                }
            }
        }
        try wait(for: completed)
        return found.read { found in (0..<count).compactMap { found[$0] } }
    }
}

/// Why a repeat has no result.
@usableFromInline
enum MeasurementFailure: Error {
    case interrupted
    /// Threads did not stop within the time limit.
    case stuck
    case failed(ComparisonError)
}
