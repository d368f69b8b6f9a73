// Tools for tests of threads. A test draws its interleaving in two columns and puts a gate between
// the lines; it never sleeps and hopes.
//
// **Design.** A gate is a semaphore, arrivals are a count under a condition, a thread is one of the
// system. Every wait has an end, so that a strategy that hangs fails a law and not the process.

public import Dispatch
import Foundation

/// A point in a test that one thread passes when another one has opened it.
public struct Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// How long a test waits for an event that must happen.
    ///
    /// Long, because the wait ends with the event.
    public static let patience = DispatchTimeInterval.seconds(120)

    /// How long a test watches for an event that must not happen.
    public static let glance = DispatchTimeInterval.milliseconds(40)

    /// No thread has passed or arrived yet.
    public init() {}

    /// Lets one thread pass.
    public func open() {
        semaphore.signal()
    }

    /// Waits until the gate is opened; false after a timeout.
    @discardableResult
    public func pass() -> Bool {
        semaphore.wait(timeout: .now() + Self.patience) == .success
    }

    /// Whether the gate stays closed for a moment.
    public var staysClosed: Bool {
        semaphore.wait(timeout: .now() + Self.glance) == .timedOut
    }
}

/// Counts arrivals, and waits for a number of them.
///
/// SAFETY: `@unchecked Sendable` because `count` is used only while `changed` is locked.
public final class Arrivals: @unchecked Sendable {
    private let changed = NSCondition()
    private var count = 0

    /// No thread has passed or arrived yet.
    public init() {}

    /// How many have arrived.
    public var value: Int {
        changed.lock()
        defer { changed.unlock() }
        return count
    }

    /// Counts one arrival.
    public func arrive() {
        changed.lock()
        count += 1
        changed.broadcast()
        changed.unlock()
    }

    /// Waits until `expected` have arrived; false after a timeout.
    @discardableResult
    public func wait(for expected: Int, seconds: Double = 120) -> Bool {
        let deadline = Date(timeIntervalSinceNow: seconds)
        changed.lock()
        defer { changed.unlock() }
        while count < expected {
            if !changed.wait(until: deadline) {
                return count >= expected
            }
        }
        return true
    }
}

/// A thread of its own, since the pool's threads are few and a blocked one could hold a test up.
public struct TestThread: Sendable {
    private let ended = Gate()

    /// Starts the thread.
    @discardableResult
    public init(_ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread { [ended] in
            body()
            ended.open()
        }
    }

    /// Waits for the thread; false if it hangs.
    ///
    /// Can be called again.
    @discardableResult
    public func join() -> Bool {
        let hasEnded = ended.pass()
        if hasEnded {
            ended.open()
        }
        return hasEnded
    }

    /// Runs `body` on a thread of its own while the calling task is suspended.
    ///
    /// Everything that blocks is tested this way: the threads that run tests are few, and the
    /// actors under test need them too.
    public static func result<Result: Sendable>(
        of body: @escaping @Sendable () -> Result
    ) async -> Result {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` on `count` threads at once; false if one of them hangs.
    public static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) -> Bool {
        let start = Arrivals()
        let threads = (0..<count).map { index in
            TestThread {
                start.arrive()
                start.wait(for: count)
                body(index)
            }
        }
        return threads.map { $0.join() }.allSatisfy(\.self)
    }
}

/// Lets another thread run.
public enum Yield {
    /// Yields the processor.
    public static func now() {
        sched_yield()
    }
}
