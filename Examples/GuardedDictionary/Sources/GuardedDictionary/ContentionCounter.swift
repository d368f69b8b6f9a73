import Dispatch
import LatchkeyStrategies
import Synchronization

/// Counts how many accesses there were, how many had to wait, and how long those waited.
///
/// Everything is an atomic addition, in relaxed order: these are statistics, and an observer must
/// not block the threads that it observes.
final class ContentionCounter: EntryObserver {
    /// When the access began to wait, on the clock of `DispatchTime`; 0 if it did not.
    struct Entry: BitwiseCopyable, Sendable {
        var blockedAt: UInt64 = 0
    }

    /// Makes a strategy find out whether it can enter at once.
    static var isActive: Bool { true }

    private let accesses = Atomic<Int>(0)
    private let waits = Atomic<Int>(0)
    private let nanosecondsWaited = Atomic<Int>(0)

    func asks(_ request: AccessRequest) -> Entry {
        accesses.add(1, ordering: .relaxed)
        return Entry()
    }

    func isBlocked(_ entry: inout Entry) {
        waits.add(1, ordering: .relaxed)
        entry.blockedAt = DispatchTime.now().uptimeNanoseconds
    }

    func enters(_ entry: inout Entry) {
        if entry.blockedAt != 0 {
            let waited = DispatchTime.now().uptimeNanoseconds - entry.blockedAt
            nanosecondsWaited.add(Int(waited), ordering: .relaxed)
        }
    }

    func leaves(_ entry: Entry) {}

    func givesUp(_ entry: Entry) {}

    var report: String {
        let (all, waited) = (accesses.load(ordering: .relaxed), waits.load(ordering: .relaxed))
        let mean = nanosecondsWaited.load(ordering: .relaxed) / max(1, waited)
        return "\(all) accesses, \(waited) contended, which waited \(mean) ns on average"
    }
}
