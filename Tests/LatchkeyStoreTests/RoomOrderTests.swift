import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The limits of a store, for a reader that makes its commits again in order.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct RoomOrderTests {
    @Test(arguments: Depth.kinds)
    func `no revision has more than the bounds allow, issue 17`(kind: StrategyKind) {
        ChangingAtTheBound().run(kind)
    }
}

/// Threads make, replace and remove properties of a store with room for three, and wait between a
/// removal's two steps: its revision, and the return of its room.
///
///     removal of a              creation of d
///     ------------              -------------
///     takes revision N
///     held back                 is refused: the room is not yet there
///     gives room back ────────▶ takes it, and revision N + 1
private struct ChangingAtTheBound {
    private static let limits = StoreLimits(propertyCountMax: 3, byteCountMax: 40)

    func run(_ kind: StrategyKind) {
        let store = BlockingStore.pausing(kind, Self.limits, turns: 40)
        let made = Synchronized<[Commit], LockStrategy>([])
        let threadCount = 4
        let ended = TestThread.run(threadCount) { thread in
            for step in 0..<120 {
                let name = "\(thread)\(step % 2)"
                let steps: [Change.Step] =
                    switch step % 5 {
                    case 0, 1: [.put(name, String(repeating: "1", count: 1 + step % 12))]
                    case 2: [.put(name, "1")]
                    case 3: [.delete(name)]
                    default: [.delete(name), .put("\(thread)x", "1"), .delete("\(thread)x")]
                    }
                if case .success(let commit) = store.commit(steps), !commit.isEmpty {
                    made.write { $0.append(commit) }
                }
            }
        }
        #expect(ended)
        let commits = made.read { $0.sorted { $0.revision < $1.revision } }
        #expect(commits.map(\.revision) == Array(1...Revision(commits.count)))
        var used = StoreSize()
        for commit in commits {
            for effect in commit.effects {
                used.propertyCount += StoreSize(effect.property).propertyCount
                used.propertyCount -= StoreSize(effect.former).propertyCount
                used.byteCount += StoreSize(effect.property).byteCount
                used.byteCount -= StoreSize(effect.former).byteCount
            }
            guard used.propertyCount <= Self.limits.propertyCountMax,
                used.byteCount <= Self.limits.byteCountMax
            else {
                Issue.record("revision \(commit.revision) has \(used)")
                return
            }
        }
    }
}
