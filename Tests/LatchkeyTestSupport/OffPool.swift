import Foundation

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

/// Runs each job on a new thread.
private final class ThreadExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread {
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
