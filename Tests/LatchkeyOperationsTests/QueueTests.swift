import Foundation
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyOperations

/// Operations that execute.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct QueueTests {
    @Test func `steps are made in order, each with the value of the one before`() throws {
        let bench = Bench()
        let id = try bench.submit(
            OperationPlan(steps: [
                .put("a", "{\"x\":1}"), .merge("b", nil), .merge("b", "{\"y\":2}"), .put("c", nil),
            ])
        )
        let end = try bench.end(of: id)
        #expect(end.state == .finished)
        #expect(end.value?.text == "{\"x\":1,\"y\":2}")
        #expect(bench.value("c") == "{\"x\":1,\"y\":2}")
        #expect((end.step, end.stepCount, end.progress) == (4, 4, 1))
        #expect(end.started != nil && end.ended != nil && end.failure == nil)
    }

    @Test func `an error skips to the steps of catch, which get the error`() throws {
        let bench = Bench()
        let id = try bench.submit(
            OperationPlan(
                steps: [.put("a", "\"text\""), .increment("a"), .put("never", "1")],
                recovery: [.put("error", nil), .put("b", "2")]
            )
        )
        let end = try bench.end(of: id)
        #expect(end.state == .finished)
        #expect(bench.value("never") == nil)
        #expect(bench.value("error") == "\"refused(LatchkeyStore.Refusal.notAnInteger)\"")
        #expect(end.value?.text == "2")
        #expect((end.step, end.stepCount) == (4, 4))
        #expect(end.failureText == "\(OperationFailure.refused(.notAnInteger))", "it was caught")
    }

    @Test func `an error of catch fails the operation`() throws {
        let bench = Bench()
        let id = try bench.submit(
            OperationPlan(steps: [.get("none")], recovery: [.delete("none"), .get("none")])
        )
        let end = try bench.end(of: id)
        #expect(end.state == .failed)
        #expect(end.value == nil)
        #expect(end.failureText == "missingProperty")
    }

    @Test(arguments: [OperationStep.put("a", nil), .merge("a", nil), .lines(nil)])
    func `a first step has no value to take`(step: OperationStep) throws {
        let bench = Bench()
        let end = try bench.end(of: try bench.submit(OperationPlan(steps: [step])))
        #expect(end.failureText == "noPreviousValue")
    }

    @Test func `a wait holds no thread, passes its value on, and can be cancelled`() throws {
        let bench = Bench(limits: OperationLimits(executingMax: 64))
        let ids = try (0..<64).map { _ in
            try bench.submit(
                OperationPlan(steps: [.increment("n"), .wait(.seconds(60)), .increment("n")])
            )
        }
        for id in ids { _ = try bench.state(of: id) { $0.step == 2 } }
        for _ in ids { try bench.clock.awaitTimer() }
        #expect(bench.value("n") == "64", "all are executing at once")
        let first = bench.operations.cancel(ids[0])
        #expect(first?.state == .cancelled, "the timer is stopped by the call")
        #expect(try bench.end(of: ids[0]).progress < 1)
        bench.clock.advance(by: 60_000)
        for id in ids.dropFirst() {
            #expect(try bench.end(of: id).state == .finished)
        }
        #expect(bench.value("n") == "127")
        #expect(bench.clock.timerCount == 0)
    }

    @Test func `a delay begins with the request`() throws {
        let bench = Bench()
        let id = try bench.submit(OperationPlan(delay: .seconds(10), steps: [.put("a", "1")]))
        let other = try bench.submit(
            OperationPlan(delay: .seconds(10), steps: [.put("a", "1")])
        )
        bench.clock.advance(by: 9_999)
        #expect(bench.operations.operation(id)?.state == .pending)
        #expect(bench.operations.cancel(other)?.state == .cancelled)
        #expect(bench.clock.timerCount == 1, "the timer of a cancelled operation is stopped")
        bench.clock.advance(by: 1)
        #expect(try bench.end(of: id).state == .finished)
        #expect(bench.clock.timerCount == 0)
    }

    @Test func `among those that are ready, the priority decides, then the order`() throws {
        let bench = Bench(limits: OperationLimits(executingMax: 1))
        try bench.submit(OperationPlan(steps: [.wait(.seconds(1))]))
        try bench.clock.awaitTimer()
        let order: [OperationPriority] = [.low, .veryHigh, .normal, .veryLow, .high, .normal]
        let ids = try order.map { priority in
            try bench.submit(OperationPlan(priority: priority, steps: [.increment("turn")]))
        }
        bench.clock.advance(by: 1_000)
        var turns: [Int] = []
        for id in ids {
            turns.append(Int(try bench.end(of: id).value?.text ?? "") ?? 0)
        }
        #expect(turns == [5, 1, 3, 6, 2, 4])
    }

    @Test func `a comparison is told to stop, and its operation is cancelled then`() throws {
        let hasBegun = DispatchSemaphore(value: 0)
        let bench = Bench(compare: { _, isCancelled, progress in
            progress(0.5)
            hasBegun.signal()
            while !isCancelled() { sched_yield() }
            return .success(Array("1".utf8))
        })
        let request = ComparisonRequest(strategies: [], threads: 1, seconds: 60)
        let id = try bench.submit(OperationPlan(steps: [.compare(request), .put("a", "1")]))
        hasBegun.wait()
        #expect(bench.operations.operation(id)?.progress == 0.25)
        #expect(bench.operations.cancel(id)?.state == .executing)
        #expect(try bench.end(of: id).state == .cancelled)
        #expect(bench.value("a") == nil)
    }

    @Test func `draining ends everything and accepts nothing more`() throws {
        let bench = Bench()
        let waiting = try bench.submit(OperationPlan(steps: [.wait(.seconds(60))]))
        let delayed = try bench.submit(OperationPlan(delay: .seconds(60), steps: [.get("a")]))
        _ = try bench.state(of: waiting) { $0.step == 1 }
        bench.operations.drain(within: Patience.duration)
        #expect(bench.operations.operation(waiting)?.state == .cancelled)
        #expect(bench.operations.operation(delayed)?.state == .cancelled)
        #expect(throws: OperationRefusal.draining) {
            try bench.submit(OperationPlan(steps: [.get("a")]))
        }
    }

    @Test func `an observer sees each change of state, in order`() throws {
        let bench = Bench()
        let id = try bench.submit(OperationPlan(delay: .seconds(1), steps: [.put("a", "1")]))
        let news = DispatchSemaphore(value: 0)
        let stop = bench.operations.observe(id) { news.signal() }
        bench.clock.advance(by: 1_000)
        var seen: [OperationEvent] = []
        while let found = bench.operations.events(of: id, after: seen.last?.number ?? 0) {
            seen += found.events
            guard !found.hasEnded, news.isSignalled() else { break }
        }
        stop()
        #expect(
            seen.filter { $0.kind == .state }.map(\.operation.state)
                == [.pending, .ready, .executing, .finished]
        )
        #expect(seen.map(\.number) == seen.map(\.number).sorted())
    }
}
