import Foundation
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

/// A lock that is replaced while it is used.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct SwitchableLockTests {
    @Test func `keeps the laws of strategies`() async {
        let violations = await TestThread.result {
            StrategyLaws.violations { SwitchableStrategy() }
        }
        #expect(violations == [])
    }

    @Test func `loses nothing while it is switched, from each lock to each`() async {
        let kinds = SwitchableLock.kinds
        // After each round one lock further: a step may share a factor with their number.
        for step in 1..<kinds.count {
            let violations = await TestThread.result {
                StrategyLaws.switchesLoseNothing {
                    SwitchableStrategy()
                } _: { value, count in
                    value.switch(to: kinds[(count * step + count / kinds.count) % kinds.count])
                }
            }
            #expect(violations == [], "steps of \(step)")
        }
    }

    @Test func `begins with lock, and has the locks that cannot be taken again`() {
        let value = Synchronized<Int, SwitchableStrategy>(1)
        #expect(value.kind == .lock)
        for kind in SwitchableLock.kinds {
            value.switch(to: kind)
            #expect(value.kind == kind)
            #expect(value.read { $0 } == 1)
        }
        #expect(
            SwitchableLock.kinds == [
                .lock, .pthreadMutex, .pthreadAdaptive, .spin, .ticket, .mcs, .adaptive,
                .semaphore, .readWriteLock, .mutex,
            ]
        )
    }

    @Test func `a strategy that is no such lock stops`() async {
        let result = await #expect(
            processExitsWith: .failure,
            observing: [\.standardErrorContent]
        ) {
            Synchronized<Int, SwitchableStrategy>(1).switch(to: .snapshot)
        }
        let errors = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(errors.contains("'snapshot' is not one of SwitchableLock.kinds."))
    }
}

extension KnownBadStrategyTests {
    @Test func `a lock that does not look again breaks the law`() async {
        var violations: [String] = []
        // On a busy machine, threads need not meet in one run.
        for _ in 0..<100 where !violations.contains(where: { $0.contains("updates were lost") }) {
            violations += await TestThread.result {
                StrategyLaws.switchesLoseNothing {
                    RawLockStrategy<ForgetfulLock>()
                } _: { value, _ in
                    value.strategy.rawLock.change()
                }
            }
        }
        #expect(violations.contains { $0.contains("updates were lost") }, "\(violations)")
    }
}

/// Two locks: a thread that waits for one does not see that the other one serves.
///
/// It releases both, so that no thread waits for a forgotten lock.
private final class ForgetfulLock: RawLock {
    static var rawLockPromise: Promise<ForgetfulLock> { unsafe .unchecked() }
    static var traits: StrategyTraits { StrategyTraits() }

    private let first = Atomic(false)
    private let second = Atomic(false)
    private let isSecond = Atomic(false)

    private func take(_ isSecond: Bool) -> Bool {
        isSecond
            ? !second.exchange(true, ordering: .acquiring)
            : !first.exchange(true, ordering: .acquiring)
    }

    func lock() {
        let isSecond = isSecond.load(ordering: .acquiring)
        while !take(isSecond) { sched_yield() }
    }

    func tryLock() -> Bool { take(isSecond.load(ordering: .acquiring)) }

    func unlock() {
        first.store(false, ordering: .releasing)
        second.store(false, ordering: .releasing)
    }

    func change() {
        lock()
        isSecond.store(!isSecond.load(ordering: .relaxed), ordering: .releasing)
        unlock()
    }
}
