internal import CLatchkeyMachine
internal import CLatchkeySystem
internal import Dispatch
internal import Glibc

/// Gives memory that was freed back to the system.
///
/// The C library permanently keeps memory that is freed between blocks in use: a service from which
/// most of its data was deleted stays as large as it was.
///
/// **Design.** A timer looks every few seconds, on a queue of its own. A look, and the return even
/// more, hold the lock of one arena of malloc() after the other, and a serving thread may wait for
/// it. So the pause before the next look is at least a thousand times the processor time of the
/// last one. A look that a busy machine delays does not delay the next one. Memory is returned when
/// much of it is resident and unused. If that did not help, because the free blocks are smaller
/// than pages, it is returned again only when there is clearly more, or when so much was freed that
/// free blocks have met. The state is used on the queue alone.
///
/// SAFETY: `@unchecked Sendable` because of that.
package final class FreeMemory: @unchecked Sendable {
    /// Resident memory beside the blocks in use that may stay.
    fileprivate static let keptByteCount = 64 << 20
    private static let intervalNanoseconds = 5_000_000_000

    private let queue = DispatchQueue(label: "latchkey.memory", qos: .utility)
    /// The extent after the last return.
    private var left = Extent(usedByteCount: 0, freeByteCount: 0)
    private var isEnded = false

    /// Begins to look.
    package init() {
        schedule(Self.intervalNanoseconds)
    }

    /// Stops looking.
    package func end() {
        queue.async { [self] in isEnded = true }
    }

    private func schedule(_ nanoseconds: Int) {
        queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
            self?.look()
        }
    }

    private func look() {
        guard !isEnded else { return }
        let start = Self.processorNanoseconds()
        if let now = Extent.now, now.isWorthReturning(after: left) {
            latchkey_machine_memory_return()
            left = .now ?? left
        }
        let elapsed = Self.processorNanoseconds() - start
        schedule(max(Self.intervalNanoseconds, 1000 * elapsed))
    }

    /// How long this thread has run.
    private static func processorNanoseconds() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }
}

extension FreeMemory {
    /// How much memory is resident.
    struct Extent {
        /// In blocks that are in use.
        var usedByteCount: Int
        /// Beside them.
        var freeByteCount: Int

        /// Nil where the system does not say.
        static var now: Extent? {
            ProcessReading.residentByteCount.map { resident in
                let used = Int(latchkey_machine_memory_in_use())
                return Extent(usedByteCount: used, freeByteCount: resident - used)
            }
        }

        /// Whether much is free, and more of it can be returned than when this was left.
        func isWorthReturning(after left: Extent) -> Bool {
            let returnable = freeByteCount - FreeMemory.keptByteCount
            return returnable > max(FreeMemory.keptByteCount, usedByteCount / 4)
                && (freeByteCount > left.freeByteCount / 4 * 5
                    || usedByteCount < left.usedByteCount / 4 * 3)
        }
    }
}
