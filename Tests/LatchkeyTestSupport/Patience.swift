public import Dispatch
import Glibc
import LatchkeySyncTesting

/// How long a test waits for what must come, before it fails.
///
/// It is longer than any pause of a busy machine, and one for all: `Gate` and `Arrivals` have the
/// same. A test that passes does not wait for its end.
public enum Patience {
    /// How long, in seconds.
    public static let seconds = 120

    /// How long.
    public static var duration: Duration { .seconds(seconds) }

    /// The moment at which a wait that begins now gives up.
    public static var end: ContinuousClock.Instant { .now + .seconds(seconds) }
}

extension DispatchSemaphore {
    /// Waits for a signal, for as long as `Patience` says; false if none comes.
    public func isSignalled() -> Bool {
        wait(timeout: .now() + .seconds(Patience.seconds)) == .success
    }
}

/// The answer of an asynchronous call; nil if none comes for as long as `Patience` says.
public func awaited<Answer: Sendable>(
    _ call: (@escaping @Sendable (Answer) -> Void) throws -> Void
) rethrows -> Answer? {
    let answer = Collected<Answer?>(nil)
    let isDone = DispatchSemaphore(value: 0)
    try call { made in
        answer.with { $0 = made }
        isDone.signal()
    }
    return isDone.isSignalled() ? answer.with { $0 } : nil
}

/// The awaited event did not come.
public struct NeverCame: Error, CustomStringConvertible {
    /// The name of the event.
    public let description: String

    /// An error with this description.
    public init(_ description: String) { self.description = description }
}

/// Waits until a condition is met, for as long as `Patience` says.
///
/// - Throws: `NeverCame`, or what the condition throws.
public func eventually(_ what: String, _ isTrue: () throws -> Bool) throws {
    let end = Patience.end
    while try !isTrue() {
        guard ContinuousClock.now < end else {
            throw NeverCame("it never came: \(what)")
        }
        // Sleeps because the conditions are those of other processes, which do not tell.
        usleep(5000)
    }
}
