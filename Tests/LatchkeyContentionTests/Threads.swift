import Foundation
import LatchkeyTestSupport

/// Starts a thread with a small stack, of which there can be thousands.
///
/// The gate is opened when it is about to end.
func smallThread(_ body: @escaping @Sendable () -> Void) -> Gate {
    let ended = Gate()
    let thread = Thread {
        body()
        ended.open()
    }
    thread.stackSize = 128 * 1024
    thread.start()
    return ended
}

/// Runs `body` on a thread of its own.
///
/// Tests run on the cooperative pool, which has a thread per processor: if tests that block took
/// them all, an actor would never run.
func offPool<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { continuation.resume(returning: body()) }
    }
}
