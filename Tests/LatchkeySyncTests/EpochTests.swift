import CLatchkeySystem
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeySync

// Length: these suites share the domain, the cells and the threads that meet.

/// The side that fences in a domain.
enum Fencing: CaseIterable {
    case readers, collector

    /// Without membarrier(2), which ThreadSanitizer does not know, only readers can.
    static var possible: [Fencing] {
        allCases.filter { $0 == .readers || Epochs.processBarrier != nil }
    }

    func makeDomain() -> Epochs {
        let domain = Epochs(barrier: self == .readers ? nil : Epochs.processBarrier)
        letReadersPass(domain)
        return domain
    }

    /// Acts as a reader that has fenced often enough.
    func letReadersPass(_ domain: Epochs) {
        if self == .collector {
            domain.stopFencing()
        }
    }
}

/// The readers that hold old values, and thread indices, by which these are counted.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct EpochTests {
    @Test(arguments: Fencing.possible)
    func `a reader holds what was replaced after it entered, a nested one too`(fencing: Fencing) {
        let domain = fencing.makeDomain()
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
        let before = domain.enterOutside()
        let stamp = domain.replaced()
        let after = domain.enterOutside()
        #expect(domain.oldestEntry() <= stamp)
        domain.leave(before)
        #expect(domain.oldestEntry() > stamp)
        domain.leave(after)
    }

    @Test func `a thread without an index of its own frees what waited for it`() {
        let domain = Epochs()
        let cell = Cell()
        let reading = domain.enterOutside()
        domain.discard(cell.replaced(at: domain.replaced()))
        #expect(cell.endCount == 0)
        domain.leave(reading)
        #expect(cell.endCount == 1)
    }

    @Test func `a domain that ends frees what it holds`() {
        let cell = Cell()
        do {
            let domain = Epochs()
            _ = domain.enter()
            domain.discard(cell.replaced(at: domain.replaced()))
            #expect(cell.endCount == 0)
        }
        #expect(cell.endCount == 1)
    }
}

/// The threads that pay for the order of a reader's accesses.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct FenceTests {
    @Test func `one barrier for all threads pays for many reads, and for writes in a row`() {
        let barriers = Arrivals()
        let domain = Epochs(barrier: { barriers.arrive() })
        for _ in 0..<3 { Self.write(domain) }
        #expect(barriers.value == 0)
        for _ in 1..<Epochs.fencedReadsMax { domain.leave(domain.enter()) }
        #expect(Self.readersFence(domain))
        domain.leave(domain.enter())
        #expect(!Self.readersFence(domain))
        for _ in 0..<3 { Self.write(domain) }
        #expect(barriers.value == 1)
        #expect(Self.readersFence(domain))
    }

    @Test func `a nested read does not count as one that fences`() {
        let domain = Epochs(barrier: {})
        let outer = domain.enter()
        for _ in 0..<2 * Epochs.fencedReadsMax { domain.leave(domain.enter()) }
        domain.leave(outer)
        #expect(Self.readersFence(domain))
    }

    @Test func `where the kernel has no barrier for all threads, readers fence`() {
        let domain = Epochs(barrier: nil)
        for _ in 0..<2 * Epochs.fencedReadsMax { domain.leave(domain.enter()) }
        #expect(Self.readersFence(domain))
    }

    /// Each round is the case that the fence is for, in steps of some nanoseconds.
    ///
    ///     reader                   writer
    ///     ------                   ------
    ///     enters                   replaces the value
    ///     finds a value            frees the old one, or holds it
    ///     it is not freed
    ///     leaves
    @Test(arguments: Fencing.possible)
    func `a reader finds the new value, or the writer finds the reader`(fencing: Fencing) {
        let domain = fencing.makeDomain()
        let cells = (0...Self.roundCount).map { _ in Cell() }
        let (shared, rounds) = (Shared(), Rounds())
        let ended = TestThread.run(2) { index in
            var cold = ColdMemory()
            for round in 0..<Self.roundCount {
                rounds.meet()
                if index == 0 {
                    cold.store(count: round % 32)
                    let reading = domain.enter()
                    let found = shared.current.load(ordering: .sequentiallyConsistent)
                    rounds.meet()
                    if cells[found].endCount != 0 {
                        shared.lateCount.add(1, ordering: .relaxed)
                    }
                    domain.leave(reading)
                    fencing.letReadersPass(domain)
                } else {
                    let next = round + 1
                    let old = shared.current.exchange(next, ordering: .sequentiallyConsistent)
                    domain.discard(cells[old].replaced(at: domain.replaced()))
                    rounds.meet()
                }
            }
        }
        #expect(ended)
        #expect(shared.lateCount.load(ordering: .relaxed) == 0)
        #expect(cells.dropLast().allSatisfy { $0.endCount == 1 })
    }

    /// Two values, each with a thread that reads it all the time and one that replaces it.
    ///
    /// Freed values are not reused here, so that a reader that is too late sees them.
    @Test(arguments: Fencing.possible)
    func `a value that a reader has found is not freed before it leaves`(fencing: Fencing) {
        let domain = fencing.makeDomain()
        let values = (0..<2).map { _ in
            (cells: (0...Self.roundCount).map { _ in Cell() }, shared: Shared())
        }
        let ended = TestThread.run(4) { index in
            let (cells, shared) = values[index % 2]
            if index < 2 {
                for next in 1..<cells.count {
                    let old = shared.current.exchange(next, ordering: .sequentiallyConsistent)
                    domain.discard(cells[old].replaced(at: domain.replaced()))
                }
                shared.isDone.store(true, ordering: .releasing)
            }
            while !shared.isDone.load(ordering: .acquiring) {
                fencing.letReadersPass(domain)
                let reading = domain.enter()
                let cell = cells[shared.current.load(ordering: .sequentiallyConsistent)]
                for _ in 0..<20 where cell.endCount != 0 {
                    shared.lateCount.add(1, ordering: .relaxed)
                }
                domain.leave(reading)
            }
        }
        #expect(ended)
        for (cells, shared) in values {
            #expect(shared.lateCount.load(ordering: .relaxed) == 0)
            #expect(eventually { cells.dropLast().allSatisfy { $0.endCount > 0 } })
            #expect(cells.dropLast().allSatisfy { $0.endCount == 1 })
            #expect(cells.last?.endCount == 0)
        }
    }

    /// The one that comes last frees the value.
    ///
    ///     reader       writer
    ///     ------       ------
    ///     is inside    has replaced the value
    ///     leaves       frees the old one, or holds it
    ///     the old one is freed
    @Test(arguments: Fencing.possible)
    func `a reader that leaves and a writer do not miss each other`(fencing: Fencing) {
        let domain = fencing.makeDomain()
        let cells = (0..<Self.roundCount).map { _ in Cell() }
        let (shared, rounds) = (Shared(), Rounds())
        let ended = TestThread.run(2) { index in
            var cold = ColdMemory()
            for (round, cell) in cells.enumerated() {
                let replaced = index == 0 ? nil : cell.replaced(at: domain.replaced())
                fencing.letReadersPass(domain)
                let reading = index == 0 ? domain.enter() : nil
                rounds.meet()
                if let reading {
                    cold.store(count: round % 32)
                    domain.leave(reading)
                }
                if let replaced {
                    domain.discard(replaced)
                }
                rounds.meet()
                if cell.endCount != 1 {
                    shared.lateCount.add(1, ordering: .relaxed)
                }
                rounds.meet()
            }
        }
        #expect(ended)
        #expect(shared.lateCount.load(ordering: .relaxed) == 0)
    }

    // On a busy machine a thread waits some milliseconds in each round for the other one's turn.
    private static let roundCount = Depth.count(2000, deep: 20_000)

    private static func readersFence(_ domain: Epochs) -> Bool {
        domain.notice.load(ordering: .relaxed) & Epochs.fencing != 0
    }

    private static func write(_ domain: Epochs) {
        domain.discard(Cell().replaced(at: domain.replaced()))
    }
}

/// The threads that free values, and how many at once.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct CollectingTests {
    /// At the limit nothing is left; beyond it a job frees the rest.
    @Test(arguments: [Epochs.freedAtOnceMax, Epochs.freedAtOnceMax + 1, 5000])
    func `a reader that leaves frees a bounded number of values, and a job the rest`(count: Int) {
        let domain = Epochs()
        let (freedHere, freed) = (Arrivals(), Arrivals())
        let thread = latchkey_system_thread_index()
        let reading = domain.enter()
        for _ in 0..<count {
            let cell = Cell {
                freed.arrive()
                if latchkey_system_thread_index() == thread {
                    freedHere.arrive()
                }
            }
            domain.discard(cell.replaced(at: domain.replaced()))
        }
        #expect(freed.value == 0)
        domain.leave(reading)
        #expect(freedHere.value == min(count, Epochs.freedAtOnceMax))
        #expect(freed.wait(for: count))
        #expect(freed.value == count)
    }

    /// The collector frees what it took when it is the collector no longer.
    @Test func `while a reader frees a value, a writer frees its own, issue 17`() {
        let domain = Epochs()
        let (inDeinit, goOn) = (Gate(), Gate())
        let slow = Cell {
            inDeinit.open()
            goOn.pass()
        }
        let entered = Gate()
        let leave = Gate()
        let reader = TestThread {
            let reading = domain.enter()
            entered.open()
            leave.pass()
            domain.leave(reading)
        }
        entered.pass()
        domain.discard(slow.replaced(at: domain.replaced()))
        leave.open()
        inDeinit.pass()
        for _ in 0..<100 {
            let cell = Cell()
            domain.discard(cell.replaced(at: domain.replaced()))
            #expect(cell.endCount == 1)
        }
        // A value that is held meanwhile is freed too, and not by the thread that is busy.
        let (cell, reading) = (Cell(), domain.enter())
        domain.discard(cell.replaced(at: domain.replaced()))
        domain.leave(reading)
        #expect(cell.endCount == 1)
        goOn.open()
        #expect(reader.join())
    }

    /// Counted in values that an insertion passes by, as a stamp comes from another writer.
    @Test func `held values stay in the order of their stamps`() {
        var held = HeldValues()
        var generator = SystemRandomNumberGenerator()
        let stamps = (1...2000).map { UInt64($0) + generator.next(upperBound: UInt64(8)) }
        for stamp in stamps { held.insert(Cell().replaced(at: stamp)) }
        var taken: [Replaced] = []
        while held.take(below: 1000, until: taken.count + 7, &taken) < 1000 {}
        #expect(taken.map(\.stamp) == stamps.filter { $0 < 1000 }.sorted())
        #expect(held.all.map(\.stamp) == stamps.filter { $0 >= 1000 }.sorted())
        for stamp in stamps.filter({ $0 < 1000 }) {
            held.insert(Cell().replaced(at: stamp))
        }
        #expect(held.all.map(\.stamp) == stamps.sorted())
        #expect(held.take(below: .max, until: .max, &taken) == .max)
        #expect(held.all.isEmpty)
        for value in taken { value.free() }
    }
}

/// Counts how often it was freed.
private final class Cell: Sendable {
    private let ends = Atomic<Int>(0)
    private let onEnd: @Sendable () -> Void

    init(onEnd: @escaping @Sendable () -> Void = {}) {
        self.onEnd = onEnd
    }

    var endCount: Int { ends.load(ordering: .relaxed) }

    func replaced(at stamp: UInt64) -> Replaced {
        // SAFETY: the reference that the address stands for is released once, when it is freed.
        unsafe Replaced(Unmanaged.passRetained(self).toOpaque(), stamp: stamp) { address in
            let cell = unsafe Unmanaged<Cell>.fromOpaque(address).takeRetainedValue()
            cell.ends.add(1, ordering: .relaxed)
            cell.onEnd()
        }
    }
}

/// The variables that the threads of one test share.
private final class Shared: Sendable {
    let current = Atomic<Int>(0)
    let isDone = Atomic<Bool>(false)
    let lateCount = Atomic<Int>(0)
}

/// Memory that is not in the processor's cache.
///
/// A store to it takes long, and the processor goes on meanwhile: it executes later loads, and
/// later stores wait for this one. So without a fence other threads see those late.
private struct ColdMemory {
    private var bytes = [UInt8](repeating: 1, count: 1 << 24)
    private var next = 0

    mutating func store(count: Int) {
        for _ in 0..<count {
            bytes[next] = UInt8(truncatingIfNeeded: count)
            next = (next + 4160) % bytes.count
        }
    }
}

/// Where two threads meet, many times and as close together as they can.
private final class Rounds: Sendable {
    private let arrivals = Atomic<Int>(0)

    /// Returns when the other thread has called it as often.
    func meet() {
        let (count, _) = arrivals.add(1, ordering: .acquiringAndReleasing)
        let expected = (count / 2 + 1) * 2
        var looks = 0
        while arrivals.load(ordering: .acquiring) < expected {
            looks += 1
            if looks % 1000 == 0 {
                Yield.now()
            }
        }
    }
}

/// The numbers that threads have, and with them the slots that a writer looks at.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ThreadIndexTests {
    @Test func `threads that live at once have different indices, below the end`() {
        let indices = Collected<[UInt32]>([])
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
        let highest = Collected<UInt32>(0)
        for _ in 0..<300 {
            let thread = TestThread {
                let index = latchkey_system_thread_index()
                highest.with { $0 = max($0, index) }
            }
            #expect(thread.join())
        }
        #expect(highest.with { $0 } < 200)
    }

    /// Threads of other tests come and go meanwhile, a few at a time.
    @Test func `a write looks at the slots of threads that live, issue 7`() {
        let crowd = 600
        for _ in 0..<7 {
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
    }

    private static var slotCount: Int {
        var count = 0
        Epochs.forEachIndex { _ in count += 1 }
        return count
    }
}
