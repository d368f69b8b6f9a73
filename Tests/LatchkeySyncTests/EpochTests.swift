import CLatchkeySystem
import LatchkeyTestSupport
import Testing

@testable import LatchkeySync

/// Who holds old values, and thread indices, by which they are counted.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct EpochTests {
    @Test func `a reader holds what was replaced after it entered`() {
        let domain = Epochs()
        let reading = domain.enter()
        let stamp = domain.replaced()
        #expect(domain.oldestEntry() <= stamp)
        domain.leave(reading)
        #expect(domain.oldestEntry() > stamp)
    }

    @Test func `a nested reading does not end the outer one`() {
        let domain = Epochs()
        let outer = domain.enter()
        let stamp = domain.replaced()
        let inner = domain.enter()
        domain.leave(inner)
        #expect(domain.oldestEntry() <= stamp)
        domain.leave(outer)
        #expect(domain.oldestEntry() > stamp)
    }

    @Test func `a thread without an index of its own is counted all the same`() {
        let domain = Epochs()
        let before = domain.enter(index: 0)
        let stamp = domain.replaced()
        let after = domain.enter(index: 0)
        #expect(domain.oldestEntry() <= stamp)
        domain.leave(before)
        #expect(domain.oldestEntry() > stamp)
        domain.leave(after)
    }
}

/// What a writer looks at, to find out who is inside.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct EpochScanTests {
    /// Threads of other tests come and go meanwhile, a few at a time.
    @Test func `a write looks at the slots of threads that live, issue 7`() {
        let crowd = 600
        let (arrived, leave) = (Arrivals(), Arrivals())
        let threads = (0..<crowd).map { _ in
            TestThread {
                _ = latchkey_system_thread_index()
                arrived.arrive()
                leave.wait(for: 1)
            }
        }
        arrived.wait(for: crowd)
        #expect(Self.slotCount >= crowd)
        leave.arrive()
        let ended = threads.map { $0.join() }
        #expect(!ended.contains(false))
        #expect(eventually { Self.slotCount < crowd / 2 })
    }

    private static var slotCount: Int {
        var count = 0
        Epochs.forEachIndex { _ in count += 1 }
        return count
    }
}

/// The numbers that threads have.
@Suite(.timeLimit(.minutes(1)), .serialized)
struct ThreadIndexTests {
    @Test func `a thread keeps its index`() {
        let index = latchkey_system_thread_index()
        #expect(index > 0)
        #expect(latchkey_system_thread_index() == index)
    }

    @Test func `threads that live at once have different indices, below the end`() {
        let indices = Guarded<[UInt32]>([])
        let arrived = Arrivals()
        let ended = TestThread.run(16) { _ in
            indices.with { $0.append(latchkey_system_thread_index()) }
            arrived.arrive()
            arrived.wait(for: 16)
        }
        #expect(ended)
        let all = indices.with { $0 }
        #expect(Set(all).count == 16)
        #expect(all.allSatisfy { $0 > 0 && $0 < latchkey_system_thread_index_end() })
    }

    /// One after the other, hundreds of threads need no more indices than live at once, which
    /// other tests of the process add to.
    @Test func `an index is used again after its thread has ended`() {
        let highest = Guarded<UInt32>(0)
        for _ in 0..<300 {
            let thread = TestThread {
                let index = latchkey_system_thread_index()
                highest.with { $0 = max($0, index) }
            }
            #expect(thread.join())
        }
        #expect(highest.with { $0 } < 200)
    }
}
