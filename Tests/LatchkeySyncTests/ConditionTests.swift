import Foundation
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeySync

/// The waiters that are woken, beside the laws.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ConditionTests {
    @Test func `a write wakes one of the threads that wait for the same, issue 19`() async {
        let items = Guarded<Int>(0)
        let (asked, taken) = (Arrivals(), Arrivals())
        let consumers = (0..<8).map { _ in
            TestThread {
                let thread = ObjectIdentifier(Thread.current)
                @Sendable func isThere(_ items: Int) -> Bool {
                    if ObjectIdentifier(Thread.current) == thread {
                        asked.arrive()
                    }
                    return items > 0
                }
                items.write(when: isThere) { $0 -= 1 }
                taken.arrive()
            }
        }
        asked.wait(for: 8)
        var counts: [Int] = []
        for count in 1...8 {
            items.write { $0 += 1 }
            taken.wait(for: count)
            counts.append(asked.value)
        }
        precondition(consumers.allSatisfy { $0.join() })
        #expect(counts == Array(9...16))
    }

    @Test func `a write that fulfils no condition wakes no thread, issue 19`() async {
        let value = Guarded<Int>(0)
        let asked = Arrivals()
        let waiter = TestThread {
            let thread = ObjectIdentifier(Thread.current)
            @Sendable func isReached(_ value: Int) -> Bool {
                if ObjectIdentifier(Thread.current) == thread {
                    asked.arrive()
                }
                return value == 100
            }
            value.read(when: isReached) { _ in }
        }
        asked.wait(for: 1)
        for _ in 0..<100 { value.write { $0 += 1 } }
        precondition(waiter.join())
        #expect(asked.value == 2)
    }

    #if os(Linux)
    @Test func `readers and the first writer whose conditions hold are chosen`() {
        let line = ConditionLine()
        let waiters = [
            ConditionWaiter(.write) { false }, ConditionWaiter(.read) { true },
            ConditionWaiter(.read) { true }, ConditionWaiter(.write) { true },
            ConditionWaiter(.read) { true },
        ]
        waiters.forEach(line.append)
        #expect(line.isToBeAsked)
        let chosen = line.choose()
        #expect(chosen.map(ObjectIdentifier.init) == waiters[1...3].map(ObjectIdentifier.init))
        for waiter in waiters[1...3] {
            #expect(!line.isToBeAsked)
            #expect(line.remove(waiter))
        }
        #expect(line.isToBeAsked)
        #expect(line.choose().map(ObjectIdentifier.init) == [ObjectIdentifier(waiters[4])])
    }

    @Test func `a waiter with a spurious wake-up keeps its place`() {
        let line = ConditionLine()
        let waiters = (0..<3).map { _ in ConditionWaiter(.write) { true } }
        waiters.forEach(line.append)
        for _ in 0..<3 {
            #expect(line.choose().map(ObjectIdentifier.init) == [ObjectIdentifier(waiters[0])])
            #expect(line.remove(waiters[0]))
            line.append(waiters[0])
        }
    }

    @Test func `a chosen task holds up those of its executor, and them until the next write`() {
        let line = ConditionLine()
        let tasks = (0..<2).map { _ in
            ConditionWaiter(.write, { true }, SleepingTask(in: TaskPlace(on: nil)))
        }
        let thread = ConditionWaiter(.write) { true }
        (tasks + [thread]).forEach(line.append)
        let first = line.choose()
        #expect(first.map(ObjectIdentifier.init) == [tasks[0], thread].map(ObjectIdentifier.init))
        #expect(line.choose().map(ObjectIdentifier.init) == [ObjectIdentifier(tasks[1])])
        #expect(!line.isToBeAsked)
    }

    @Test func `a waiter that gives up names a successor only if it was chosen`() {
        let line = ConditionLine()
        let waiters = (0..<4).map { _ in ConditionWaiter(.write) { true } }
        waiters.forEach(line.append)
        _ = line.choose()
        line.abandon(waiters[2])
        #expect(waiters.map(\.wasChosen) == [true, false, false, false])
        line.abandon(waiters[0])
        #expect(waiters.map(\.wasChosen) == [true, true, false, false])
        #expect(waiters.map { $0.isWoken.load(ordering: .relaxed) } == [0, 1, 0, 0])
        line.abandon(waiters[1])
        line.abandon(waiters[3])
        #expect(!line.isToBeAsked)
        #expect(line.choose().isEmpty)
    }
    #endif
}
