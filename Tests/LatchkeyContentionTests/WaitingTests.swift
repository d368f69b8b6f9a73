import CLatchkeySystem
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// One thread is inside and another has to wait.
@Suite(.timeLimit(.minutes(15)), .offPool) struct Waiting {
    static let levels: [MeteringLevel] = [.counts, .sampled, .full]

    //   holder                 waiter
    //   enters
    //                          asks, and is counted as a waiter
    //   leaves
    //                          enters, and its wait is recorded
    @Test(arguments: Depth.kinds.filter { $0 != .actor }, levels)
    func `is counted and timed`(kind: StrategyKind, level: MeteringLevel) throws {
        let found = try #require(kind.accept(OneWaits(level: level)))
        #expect(found.waitersMeanwhile == 1)
        #expect(found.reading.waiters == 0)
        #expect(found.reading.write.acquisitions == 2)
        // An estimate for mutex: an entry that takes as long as a wait passes for one.
        let contendedMax: UInt64 = kind == .mutex && level != .counts ? 2 : 1
        #expect((1...contendedMax).contains(found.reading.write.contended))
        #expect(found.reading.handOffs == 1)
        #expect(found.reading.write.wait.timed == (level == .counts ? 1 : 2))
        #expect(found.reading.write.wait.maxNanoseconds >= found.blockedNanoseconds)
        #expect(found.reading.write.wait.windowMaxNanoseconds >= found.blockedNanoseconds)
        if level != .counts {
            #expect(found.reading.write.hold.maxNanoseconds >= found.blockedNanoseconds)
        }
    }

    @Test func `for the actor is counted and timed too`() throws {
        let meter = ContentionMeter(ActorStrategy.self, level: .full)
        let synchronized = Synchronized(0, strategy: meter.metered(ActorStrategy()))
        let inside = Gate()
        let leave = Gate()
        let done = Gate()
        let write: @Sendable (inout Int) -> Void = { _ in
            inside.open()
            leave.pass()
        }
        // An immediate task runs on the submitting thread: a thread of its own, for it blocks.
        let holder = TestThread { try? synchronized.submitWrite(write, completion: done.open) }
        #expect(inside.pass())
        try synchronized.submitWrite(write, completion: done.open)
        #expect(meter.reading.waiters == 1)
        #expect(meter.reading.write.contended == 1)
        leave.open()
        leave.open()
        #expect(done.pass() && done.pass() && holder.join())
        #expect(meter.reading.waiters == 0)
        #expect(meter.reading.write.wait.timed == 2)
    }

    @Test func `of a refused write is nothing`() throws {
        let base = SerialQueueAsyncStrategy(backlogMax: 1)
        let meter = ContentionMeter(SerialQueueAsyncStrategy.self, level: .full)
        let synchronized = Synchronized(0, strategy: meter.metered(base))
        let leave = Gate()
        let done = Gate()
        try synchronized.submitWrite({ _ in _ = leave.pass() }, completion: done.open)
        #expect(throws: BacklogFull.self) {
            try synchronized.submitWrite({ $0 = 1 }, completion: done.open)
        }
        leave.open()
        #expect(done.pass())
        _ = synchronized.read { $0 }
        #expect(meter.reading.write.acquisitions == 1)
        #expect(meter.reading.waiters == 0)
    }

    @Test func `for all stripes at once is an entry of each`() {
        let meter = ContentionMeter(LockStrategy.self, level: .full)
        let striped = Striped<Int, Metered<LockStrategy>>(
            count: 4,
            strategy: { meter.metered(LockStrategy()) },
            value: { $0 }
        )
        let done = Gate()
        // Taken now, or this thread might be given the index of the one that ends below.
        _ = latchkey_system_thread_index()
        #expect(TestThread.run(1) { _ in striped.write(0) { $0 += 1 } })
        striped.submitReadAll({ $0.reduce(0, +) }, completion: { if $0 == 7 { done.open() } })
        #expect(done.pass())
        #expect(meter.reading.read.acquisitions == 4)
        #expect(meter.reading.read.hold.timed == 4)
        #expect(meter.reading.handOffs == 1, "of the stripe that another thread was in")
        #expect(striped.readAll { $0.reduce(0, +) } == 7)
        #expect(meter.reading.read.acquisitions == 8)
        #expect(meter.reading.handOffs == 1)
    }
}

/// Holds a guard while another thread waits for it.
private struct OneWaits: StrategyVisitor {
    struct Found {
        var reading: ContentionReading
        var waitersMeanwhile: Int
        /// Less than what the waiter waited, and less than what the holder held.
        var blockedNanoseconds: UInt64
    }

    var level: MeteringLevel

    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Found? { nil }

    func visitBlocking<ChosenStrategy: MakeableStrategy & BlockingStrategy>(
        _ strategy: ChosenStrategy.Type
    ) -> Found? {
        let meter = ContentionMeter(strategy, level: level, samplingMean: 1)
        let synchronized = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let inside = Gate()
        let leave = Gate()
        let holder = TestThread {
            synchronized.write { _ in
                inside.open()
                leave.pass()
            }
        }
        guard inside.pass() else { return nil }
        let waiter = TestThread { synchronized.write { $0 += 1 } }
        while meter.reading.waiters == 0 { Yield.now() }
        let start = latchkey_system_nanoseconds()
        let waiters = meter.reading.waiters
        while latchkey_system_nanoseconds() - start < 200_000 { Yield.now() }
        let blocked = latchkey_system_nanoseconds() - start
        leave.open()
        guard holder.join(), waiter.join() else { return nil }
        return Found(
            reading: meter.reading,
            waitersMeanwhile: waiters,
            blockedNanoseconds: blocked
        )
    }
}
