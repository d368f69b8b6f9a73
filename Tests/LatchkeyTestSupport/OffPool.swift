import Foundation

/// Runs a body that may block, on a thread of its own, and waits for it without blocking.
///
/// Tests run on the threads of the cooperative pool, which are as few as there are processors.
/// Asynchronous strategies need such a thread to apply a write: two tests that block would starve
/// the one that they wait for.
public func offPool<Result: Sendable>(
    _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(with: Swift.Result(catching: body))
        }
    }
}
