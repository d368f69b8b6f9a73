import CLatchkeySystem
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyContention

/// The knowledge of a probe about the threads that are inside.
@Suite(.timeLimit(.minutes(15)), .offPool) struct Holders {
    @Test func `that change are hand-offs`() {
        let meter = ContentionMeter(LockStrategy.self, level: .counts)
        let synchronized = Synchronized(0, strategy: meter.metered(LockStrategy()))
        func enter() { synchronized.write { $0 += 1 } }
        enter()
        enter()
        #expect(meter.reading.handOffs == 0)
        #expect(TestThread.run(1) { _ in for _ in 0..<3 { synchronized.write { $0 += 1 } } })
        #expect(meter.reading.handOffs == 1)
        _ = synchronized.read { $0 }
        #expect(meter.reading.handOffs == 2)
    }

    @Test func `that share are not`() {
        let meter = ContentionMeter(ReadWriteLockStrategy.self, level: .counts)
        let synchronized = Synchronized(0, strategy: meter.metered(ReadWriteLockStrategy()))
        synchronized.write { $0 = 1 }
        #expect(TestThread.run(1) { _ in _ = synchronized.read { $0 } })
        #expect(meter.reading.handOffs == 0)
    }

    @Test func `of two guards are two holders`() {
        let meter = ContentionMeter(LockStrategy.self, level: .counts)
        let first = Synchronized(0, strategy: meter.metered(LockStrategy()))
        let second = Synchronized(0, strategy: meter.metered(LockStrategy()))
        first.write { $0 = 1 }
        #expect(TestThread.run(1) { _ in second.write { $0 = 1 } })
        first.write { $0 = 2 }
        #expect(meter.reading.handOffs == 0)
    }

    // The strategies' own check is in `Synchronized`, in checked builds: this goes past it.
    @Test func `that enter again stop with a sentence`() async throws {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let meter = ContentionMeter(SpinStrategy.self, level: .sampled)
            let metered = meter.metered(SpinStrategy())
            let cell = GuardedValue(0)
            metered.write(cell) { _ in
                metered.write(cell) { $0 += 1 }
            }
        }
        let said = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("guarded by 'spin' entered the same lock again"))
    }

    @Test func `that submit to a strategy that blocks stop as well`() async {
        await #expect(processExitsWith: .failure) {
            let meter = ContentionMeter(SemaphoreStrategy.self, level: .counts)
            let metered = meter.metered(SemaphoreStrategy())
            let cell = GuardedValue(0)
            metered.write(cell) { _ in
                try? metered.submit(
                    AccessRequest(.read, isSubmitted: true),
                    observer: NoObserver(),
                    { unsafe metered.reading(cell) { $0.value } },
                    completion: { _ in }
                )
            }
        }
    }

    @Test(arguments: [StrategyKind.serialQueueAsync, .barrierQueueAsync, .actor])
    func `may submit what runs later`(kind: StrategyKind) {
        #expect(kind.accept(SubmitsFromInside()))
    }

    @Test func `may enter a recursive lock again to read`() {
        let meter = ContentionMeter(RecursiveLockStrategy.self, level: .full)
        let synchronized = Synchronized(7, strategy: meter.metered(RecursiveLockStrategy()))
        let sum = synchronized.read { outer in synchronized.read { outer + $0 } }
        #expect(sum == 14)
        #expect(meter.reading.read.acquisitions == 2)
        #expect(meter.reading.read.contended == 0)
    }

    /// Decided by the lock, not by a name.
    ///
    /// At a level without a clock, so that nothing but the holder counts.
    @Test func `are what every lock is judged by that is not tried, issue 17`() {
        Self.expectJudgedByHolder(ContentionMeter(MutexStrategy.self, level: .counts))
        Self.expectJudgedByHolder(
            ContentionMeter(RawLockStrategy<UntriedLock>.self, level: .counts)
        )
        Self.expectJudgedByHolder(
            ContentionMeter(
                ObservedStrategy<RawLockStrategy<UntriedLock>, NoObserver>.self,
                level: .counts
            )
        )
        #expect(
            ContentionMeter(RawLockStrategy<AdaptiveLock>.self, level: .counts)
                .countsContendedExactly
        )
    }

    private static func expectJudgedByHolder(_ meter: ContentionMeter) {
        #expect(!meter.countsContendedExactly)
        let probe = ContentionProbe(meter, traits: meter.traits)
        var inside = probe.asks(AccessRequest(.write))
        probe.enters(&inside)
        var outside = probe.asks(AccessRequest(.write))
        #expect(meter.reading.write.contended == 1)
        #expect(meter.reading.waiters == 1)
        probe.leaves(inside)
        probe.enters(&outside)
        probe.leaves(outside)
        #expect(meter.reading.waiters == 0)
        let last = probe.asks(AccessRequest(.write))
        #expect(!last.timing.isBlocked)
        #expect(meter.reading.write.contended == 1)
    }

    @Test func `that are not there yet show by the wait under mutex`() {
        let meter = ContentionMeter(MutexStrategy.self, level: .full)
        let probe = ContentionProbe(meter, traits: meter.traits)
        var entry = probe.asks(AccessRequest(.write))
        #expect(!entry.timing.isBlocked)
        let start = latchkey_system_nanoseconds()
        while latchkey_system_nanoseconds() < start + 10_000 {
            latchkey_system_pause()
        }
        probe.enters(&entry)
        #expect(probe.meter.reading.write.contended == 1)
        #expect(probe.meter.reading.waiters == 0)
        probe.leaves(entry)
    }

    /// In a process of its own, because it takes every thread index there is.
    @Test func `without a thread index are counted exactly`() async {
        await #expect(processExitsWith: .success) {
            let arrived = Arrivals()
            let leave = Gate()
            let count = Int(LATCHKEY_SYSTEM_THREADS_MAX) - 1
            let holders = (0..<count).map { _ in
                smallThread {
                    _ = latchkey_system_thread_index()
                    arrived.arrive()
                    leave.pass()
                }
            }
            precondition(arrived.wait(for: count))
            for level in Waiting.levels {
                let meter = ContentionMeter(LockStrategy.self, level: level, samplingMean: 4)
                let synchronized = Synchronized(0, strategy: meter.metered(LockStrategy()))
                precondition(
                    TestThread.run(2) { _ in
                        precondition(latchkey_system_thread_index() == 0)
                        for _ in 0..<1000 { synchronized.write { $0 += 1 } }
                    }
                )
                let write = meter.reading.write
                precondition(write.acquisitions == 2000)
                precondition(meter.reading.waiters == 0)
                let weight: UInt64 = level == .counts ? write.contended : 2000
                precondition(write.wait.buckets.reduce(0, +) == weight)
                precondition(level == .counts || write.wait.maxNanoseconds > 0)
            }
            for _ in holders { leave.open() }
            for holder in holders { holder.pass() }
        }
    }
}

/// Submits a write from inside a write of the same guard; false if either does not complete.
private struct SubmitsFromInside: StrategyVisitor {
    func visit<ChosenStrategy: MakeableStrategy>(_ strategy: ChosenStrategy.Type) -> Bool {
        let meter = ContentionMeter(strategy, level: .full)
        let synchronized = Synchronized(0, strategy: meter.metered(ChosenStrategy()))
        let done = Gate()
        let submit: @Sendable () -> Void = {
            try? synchronized.submitWrite({ $0 += 1 }, completion: done.open)
        }
        try? synchronized.submitWrite({ _ in submit() }, completion: done.open)
        return done.pass() && done.pass()
    }
}

/// A lock that must not be tried.
private final class UntriedLock: RawLock {
    static var rawLockPromise: Promise<UntriedLock> { unsafe .unchecked() }
    private let base = AdaptiveLock()

    static let traits = StrategyTraits(tellsOfWaiting: false)

    func lock() { base.lock() }
    func tryLock() -> Bool { base.tryLock() }
    func unlock() { base.unlock() }
}
