import Foundation
public import Testing

/// Runs a body that may block, on a thread of its own, and waits for it without blocking.
///
/// Tests run on the threads of the cooperative pool, which are as few as there are processors.
/// Asynchronous strategies need such a thread to apply a write: two tests that block would starve
/// the one that they wait for.
///
/// The body stays in the calling task, so that a failure in it belongs to the test that runs it. A
/// failure outside each task would be recorded for all tests that run then.
public func offPool<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withTaskExecutorPreference(ThreadExecutor()) { try body() }
}

/// Runs each test of a suite as `offPool` does: it may block from its first line to its last.
public struct OffPool: SuiteTrait, TestTrait, TestScoping {
    /// Each test is run this way, not the suite as a whole.
    public var isRecursive: Bool { true }

    /// Runs a test on threads of its own.
    public func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(ThreadExecutor()) { try await function() }
    }
}

extension Trait where Self == OffPool {
    /// Each test runs on threads of its own.
    public static var offPool: Self { Self() }
}

/// Runs each job on a new thread.
private final class ThreadExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
