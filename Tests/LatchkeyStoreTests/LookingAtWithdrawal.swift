import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// Under `snapshot` a reader enters at once and keeps what it found.
///
/// A property that expires makes the reader ask for the time: the test holds it there.
///
///     reader                 others
///     ------                 ------
///                            3 a put, with a time to live
///     finds a of 3
///     is held                3 withdrawn
///                            3 b put, and released
///     looks again: none
struct LookingBeforeWithdrawal {
    func run() {
        let (isHeld, goesOn) = (Gate(), Gate())
        let holds = Atomic<Bool>(false)
        let commits = Arrivals()
        let hook = CommitHook { _, _ in commits.arrive() }
        let store = BlockingStore(
            .snapshot,
            stripeCount: 1,
            clock: StoreClock {
                if holds.exchange(false, ordering: .relaxed) {
                    isHeld.open()
                    goesOn.pass()
                }
                return Timestamp(milliseconds: 0)
            },
            after: 2,
            hook: hook
        )
        let writers = [("a", Outcome.refused(.withdrawn(.unavailable))), ("b", .created(3))]
            .map { name, outcome in
                {
                    TestThread {
                        let change = Change.increment(.owning(name), by: 1, ttl: 1000)
                        #expect(Outcome(store.commit(change)) == outcome)
                    }
                }
            }
        let first = writers[0]()
        #expect(commits.wait(for: 1))
        holds.store(true, ordering: .relaxed)
        let reader = TestThread { #expect(store.property("a") == nil) }
        #expect(isHeld.pass())
        withdraw(store, after: 2, .unavailable)
        #expect(first.join())
        let second = writers[1]()
        #expect(commits.wait(for: 2))
        hook.release(through: 3)
        #expect(second.join())
        goesOn.open()
        #expect(reader.join())
    }
}

/// Under `snapshot` readers enter while a withdrawal is made: before its tables are published they
/// find what is withdrawn, and are of the generation before it.
struct LookingDuringWithdrawal {
    func run() {
        let looks = Synchronized<(@Sendable () -> Void)?, LockStrategy>(nil)
        let seen = Synchronized<[String], LockStrategy>([])
        let commits = Arrivals()
        let hook = CommitHook { _, _ in commits.arrive() }
        let store = BlockingStore(
            .snapshot,
            stripeCount: 8,
            hook: hook,
            betweenSteps: {
                if let look = looks.read({ $0 }) {
                    TestThread(look).join()
                }
            }
        )
        let writer = TestThread {
            let steps: [Change.Step] = [.put("a", "1"), .put("b", "1")]
            #expect(Outcome(store.commit(steps)) == .refused(.withdrawn(.full)))
        }
        #expect(commits.wait(for: 1))
        looks.write {
            $0 = {
                let generation = hook.generation
                for name in ["a", "b"] {
                    let property = store.kept(name)
                    seen.write { $0.append("\(generation) \(property?.revision ?? 0)") }
                }
            }
        }
        withdraw(store, after: 0, .full)
        looks.write { $0 = nil }
        #expect(writer.join())
        #expect(seen.read { $0 } == ["0 1", "0 1", "0 0", "0 0"])
        #expect(hook.generation == 1)
        #expect(store.property("a") == nil)
    }
}

extension BlockingStore {
    /// What the table has, released or not.
    fileprivate func kept(_ name: String) -> Property? {
        base.stripes.read(stripe(of: name), .here()) { $0.find(.owning(name), in: .stored) }
    }
}
