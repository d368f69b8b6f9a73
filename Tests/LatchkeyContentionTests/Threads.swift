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
