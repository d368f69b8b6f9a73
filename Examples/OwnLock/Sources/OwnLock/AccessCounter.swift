import LatchkeyStrategies
import Synchronization

/// Counts accesses, whatever they are to.
final class AccessCounter: EntryObserver {
    struct Entry: BitwiseCopyable, Sendable {}

    static var isActive: Bool { false }

    private let accesses = Atomic<Int>(0)

    var count: Int { accesses.load(ordering: .relaxed) }

    func asks(_ request: AccessRequest) -> Entry {
        accesses.add(1, ordering: .relaxed)
        return Entry()
    }

    func isBlocked(_ entry: inout Entry) {}
    func enters(_ entry: inout Entry) {}
    func leaves(_ entry: Entry) {}
    func givesUp(_ entry: Entry) {}
}
