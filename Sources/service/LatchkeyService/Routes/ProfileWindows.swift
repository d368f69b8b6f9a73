internal import Dispatch
internal import LatchkeyStrategies

/// The requests for profiles, each of which waits for its time to be over.
///
/// **Design.** A queue of its own has the timers and writes the files, which takes milliseconds, so
/// that no thread that serves waits. `state` is guarded by a lock that is held for a look-up only.
/// Each closure is taken out of the state once, by its timer or by the drain, and runs on the
/// queue.
final class ProfileWindows: Sendable {
    /// More requests at once are refused, because each keeps the sums at its start.
    static let countMax = 8

    private struct State: Sendable {
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        var lastNumber: UInt64 = 0
        var isDraining = false
    }

    private let state = Guarded(State())
    private let queue = DispatchQueue(label: "latchkey.profile")

    /// A number for a request.
    func nextNumber() -> UInt64 {
        state.write { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Runs the closure after this many seconds, or as soon as the service drains, or the wait is
    /// ended.
    ///
    /// - Returns: false if too many wait already.
    func run(_ number: UInt64, after seconds: Int, _ body: @escaping @Sendable () -> Void) -> Bool {
        let (isAccepted, isDraining) = state.write { state in
            let isAccepted = state.waiting.count < Self.countMax
            if isAccepted {
                state.waiting[number] = body
            }
            return (isAccepted, state.isDraining)
        }
        if isAccepted {
            queue.asyncAfter(deadline: .now() + .seconds(isDraining ? 0 : seconds)) { [self] in
                finish(number)
            }
        }
        return isAccepted
    }

    /// Ends a wait, if it is not over: the client has gone.
    func end(_ number: UInt64) {
        queue.async { [self] in finish(number) }
    }

    private func finish(_ number: UInt64) {
        state.write { $0.waiting.removeValue(forKey: number) }?()
    }

    /// Ends all waits, also those that come later.
    func drain() {
        let numbers = state.write { state in
            state.isDraining = true
            return Array(state.waiting.keys)
        }
        for number in numbers {
            end(number)
        }
    }
}
