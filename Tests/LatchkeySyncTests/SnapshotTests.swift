import LatchkeyTestSupport
import Testing

@testable import LatchkeySync

/// When a snapshot's old values are freed, and that they are.
///
/// Each test counts its own readers: those of other tests hold old values too.
@Suite(.timeLimit(.minutes(15)))
struct SnapshotTests {
    /// The value goes when its last reader does.
    ///
    ///     reader                   writer
    ///     ------                   ------
    ///     enters
    ///     inside ────────────────▶ replaces the value
    ///                              the old one is not freed
    ///     sees the old one ◀──────
    ///     leaves: the old one is freed
    @Test func `an old value lives as long as a reader is inside, and no longer`() {
        let freed = Arrivals()
        let value = Synchronized(Tracked(freed), strategy: SnapshotStrategy(epochs: Epochs()))
        let (inside, replaced) = (Gate(), Gate())
        let reader = TestThread {
            value.read { _ in
                inside.open()
                replaced.pass()
                #expect(freed.value == 0)
            }
        }
        inside.pass()
        value.write { $0 = Tracked(freed) }
        #expect(freed.value == 0)
        replaced.open()
        #expect(reader.join())
        #expect(freed.value == 1)
        // Without a reader it goes at once.
        value.write { $0 = Tracked(freed) }
        #expect(freed.value == 2)
    }

    /// Readers of one value hold what is replaced elsewhere: they leave one after the other, and
    /// each frees what waited for it, without a further write.
    @Test func `values held by readers of another value are freed when the last leaves, issue 7`() {
        let freed = Arrivals()
        let domain = Epochs()
        let read = Synchronized(0, strategy: SnapshotStrategy(epochs: domain))
        let written = Synchronized(Tracked(freed), strategy: SnapshotStrategy(epochs: domain))
        let readers = (0..<2).map { _ in
            let (inside, leave) = (Gate(), Gate())
            let thread = TestThread {
                read.read { _ in
                    inside.open()
                    leave.pass()
                }
            }
            inside.pass()
            written.write { $0 = Tracked(freed) }
            return (thread: thread, leave: leave)
        }
        written.write { $0 = Tracked(freed) }
        #expect(freed.value == 0)
        readers[0].leave.open()
        readers[0].thread.join()
        #expect(freed.value == 1)
        readers[1].leave.open()
        readers[1].thread.join()
        #expect(freed.value == 3)
    }

    @Test func `a nested read holds what the outer one saw`() {
        let freed = Arrivals()
        let strategy = SnapshotStrategy(epochs: Epochs())
        let guarded = GuardedValue(Tracked(freed))
        strategy.begin(guarded)
        strategy.read(guarded) { _ in
            strategy.read(guarded) { _ in }
            strategy.write(guarded) { $0 = Tracked(freed) }
            strategy.read(guarded) { _ in }
            #expect(freed.value == 0)
        }
        #expect(freed.value == 1)
    }

    /// Below the access functions: a checked build takes the `deinit` for a part of the write that
    /// frees.
    @Test func `a value's deinit may enter the guard that frees it`() {
        let ended = Arrivals()
        let strategy = SnapshotStrategy(epochs: Epochs())
        let guarded = GuardedValue<AtEnd?>(nil)
        strategy.begin(guarded)
        strategy.write(guarded) { value in
            value = AtEnd {
                strategy.write(guarded) { _ in }
                ended.arrive()
            }
        }
        strategy.write(guarded) { $0 = nil }
        #expect(ended.value == 1)
    }

    @Test func `a writer holds other writers up, not readers`() {
        let value = Synchronized(1, strategy: SnapshotStrategy(epochs: Epochs()))
        let (inside, leave, written) = (Gate(), Gate(), Gate())
        let holder = TestThread {
            value.readHoldingWriters { _ in
                inside.open()
                leave.pass()
            }
        }
        inside.pass()
        let writer = TestThread {
            value.write { $0 = 2 }
            written.open()
        }
        #expect(value.read { $0 } == 1)
        #expect(written.staysClosed)
        leave.open()
        #expect(holder.join() && writer.join())
        #expect(value.read { $0 } == 2)
    }
}

/// Runs something when it is freed.
final class AtEnd: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    deinit {
        body()
    }
}
