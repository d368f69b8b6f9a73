import Dispatch
import LatchkeyStrategies
import LatchkeyTestSupport

@testable import LatchkeyGuards

/// Makes the thread that comes to a step wait there.
final class Stops: Sendable {
    private struct Planned {
        let stop: Stop
        let steps: [SharedGuards.Step]
        var passed: Int
    }

    private let planned = Guarded<[Planned]>([])

    /// Plans a stop of the first thread that comes to one of the steps, after some have passed.
    func plan(_ steps: SharedGuards.Step..., after passed: Int = 0) -> Stop {
        let stop = Stop()
        planned.write { $0.append(Planned(stop: stop, steps: steps, passed: passed)) }
        return stop
    }

    /// The hook.
    func comes(_ step: SharedGuards.Step) {
        let stop = planned.write { planned -> Stop? in
            guard let index = planned.firstIndex(where: { $0.steps.contains(step) }) else {
                return nil
            }
            planned[index].passed -= 1
            return planned[index].passed < 0 ? planned.remove(at: index).stop : nil
        }
        stop?.waits()
    }
}

/// A place where one thread waits until the test lets it go on.
final class Stop: Sendable {
    private let event = DispatchSemaphore(value: 0)
    private let goesOn = DispatchSemaphore(value: 0)
    private let wasReached = Guarded(false)

    fileprivate func waits() {
        wasReached.write { $0 = true }
        event.signal()
        if !goesOn.isSignalled() { preconditionFailure("A test lets go of what it stops.") }
    }

    /// No thread will come any more.
    func isPassed() { event.signal() }

    /// Waits for a thread, or that none comes; false then.
    func isReached() throws -> Bool {
        guard event.isSignalled() else { throw NeverCame("a thread at a planned stop") }
        return wasReached.read { $0 }
    }

    func letGo() { goesOn.signal() }
}
