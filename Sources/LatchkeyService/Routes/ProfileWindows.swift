internal import Dispatch
internal import LatchkeyStrategies

/// The requests for profiles, each of which waits for its time to be over.
///
/// **Design.** A queue of its own has the timers and writes the files, which takes milliseconds, so
/// that no thread that serves waits. `state` is guarded by a lock that is held for a look-up only.
/// Each closure is taken out of the state once, by its timer or by the drain, and runs on the
/// queue.
final class ProfileWindows: Sendable {
    /// More requests at once are refused, since each keeps the sums of its start.
    static let countMax = 8

    private struct State: Sendable {
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
        var isDraining = false
    }

    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "latchkey-profile")

    /// Runs the closure in so many seconds, or as soon as the service drains.
    ///
    /// - Returns: false if too many wait already.
    func run(after seconds: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        let number: UInt64? = state.write { state in
            guard state.waiting.count < Self.countMax else {
                return nil
            }
            state.lastNumber += 1
            state.waiting[state.lastNumber] = body
            return state.lastNumber
        }
        guard let number else {
            return false
        }
        let isDraining = state.read { $0.isDraining }
        queue.asyncAfter(deadline: .now() + .seconds(isDraining ? 0 : seconds)) { [self] in
            state.write { $0.waiting.removeValue(forKey: number) }?()
        }
        return true
    }

    /// Ends all waits, also those that come later.
    func drain() {
        let numbers = state.write { state in
            state.isDraining = true
            return Array(state.waiting.keys)
        }
        for number in numbers {
            queue.async { [self] in
                state.write { $0.waiting.removeValue(forKey: number) }?()
            }
        }
    }
}
