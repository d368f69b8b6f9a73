internal import Dispatch
internal import LatchkeySettings
internal import LatchkeyStore

/// The clock and the timers of operations.
///
/// **Design.** The system's clock has one queue for all timers, which are the kernel's: a delay
/// holds no thread. The closure of a timer must not block.
package struct OperationClock: Sendable {
    let now: @Sendable () -> Timestamp
    /// Calls a closure once after a time, unless the timer is stopped before.
    let after: @Sendable (Duration, @escaping @Sendable () -> Void) -> OperationTimer

    package static let system = OperationClock(now: StoreClock.system.now) { delay, body in
        let timer = KernelTimer(delay, on: timers, body)
        return OperationTimer { timer.stop() }
    }

    private static let timers = DispatchQueue(label: "latchkey.operations.timers")
}

/// A timer that was started.
package struct OperationTimer: Sendable {
    /// Prevents the call of the timer; does nothing if it has called.
    let stop: @Sendable () -> Void
}

/// A timer of the kernel, which is freed when it has called or was stopped.
///
/// SAFETY: `@unchecked Sendable` because libdispatch's objects can be used by any thread.
private final class KernelTimer: @unchecked Sendable {
    private let source: any DispatchSourceTimer

    init(_ delay: Duration, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
        source = DispatchSource.makeTimerSource(queue: queue)
        let delay = DispatchTimeInterval.nanoseconds(delay.wholeNanoseconds)
        source.schedule(deadline: .now() + delay, leeway: .milliseconds(1))
        // The source keeps the handler, and so this object, until it is cancelled.
        source.setEventHandler {
            self.stop()
            body()
        }
        source.activate()
    }

    func stop() {
        source.cancel()
    }
}
