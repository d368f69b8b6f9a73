import LatchkeyStrategies
import Synchronization

/// Counts accesses, whatever gives them.
final class AccessCounter: EntryObserver {
    struct Entry: BitwiseCopyable, Sendable {}

    static var isActive: Bool { false }

    private let accesses = Atomic<Int>(0)

    var count: Int { accesses.load(ordering: .relaxed) }

    func asks(_ mode: AccessMode) -> Entry {
        accesses.add(1, ordering: .relaxed)
        return Entry()
    }

    func isBlocked(_ entry: inout Entry) {}
    func enters(_ entry: inout Entry) {}
    func leaves(_ entry: Entry) {}
    func givesUp(_ entry: Entry) {}
}

/// A strategy around any other one, which counts what it does.
struct CountingStrategy<Base: MakeableStrategy>: WrappingStrategy, MakeableStrategy {
    let base = Base()
    let ownObserver = AccessCounter()
}

extension CountingStrategy: BlockingStrategy where Base: BlockingStrategy {}
extension CountingStrategy: TryingStrategy where Base: TryingStrategy {}
