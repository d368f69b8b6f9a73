internal import Synchronization

/// The readers that have no slot: an unordered list under a lock.
///
/// **Design.** For them, `count` has the part of a slot: they add to it before they load the
/// pointer, and subtract when they are done, in the sequentially consistent order. A writer that
/// finds it above 0 takes the lock, and so finds each of their entries.
///
/// SAFETY: `@unchecked Sendable` because `entries` is used only while `lock` is held.
final class Outsiders: @unchecked Sendable {
    private let lock = AdaptiveLock()
    private let count = Atomic<Int>(0)
    private var entries: [UInt64] = []

    func enter(_ clock: borrowing Atomic<UInt64>) -> UInt64 {
        lock.lock()
        defer { lock.unlock() }
        count.add(1, ordering: .sequentiallyConsistent)
        let entry = clock.load(ordering: .acquiring)
        entries.append(entry)
        return entry
    }

    func leave(_ entry: UInt64) {
        lock.lock()
        defer { lock.unlock() }
        guard let index = entries.firstIndex(of: entry) else {
            preconditionFailure("A reader left who had not entered.")
        }
        entries.remove(at: index)
        count.subtract(1, ordering: .sequentiallyConsistent)
    }

    func oldestEntry() -> UInt64 {
        guard count.load(ordering: .sequentiallyConsistent) > 0 else { return .max }
        lock.lock()
        defer { lock.unlock() }
        return entries.min() ?? .max
    }
}
