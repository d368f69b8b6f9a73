import Foundation
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyOperations

/// Nothing keeps an operation that has ended beyond the history.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LeakTests {
    /// Weak references to the parts of operations.
    private final class Traces: Sendable {
        private struct Trace: @unchecked Sendable {
            // SAFETY: read and set by the test that owns it, one thread at a time.
            weak var object: AnyObject?
        }

        private let traces = Synchronized<[Trace], LockStrategy>([])

        func follow(_ objects: AnyObject...) {
            let new = objects.map { Trace(object: $0) }
            traces.write { $0 += new }
        }

        var count: Int { traces.read { $0.count } }
        var liveCount: Int { traces.read { $0.count { $0.object != nil } } }
    }

    /// A plan whose parts are followed.
    private static func plan(
        _ traces: Traces,
        id: OperationID? = nil,
        after dependencies: [OperationID] = [],
        delay: Duration = .zero,
        _ steps: OperationStep...
    ) -> OperationPlan {
        let source = OwnedBytes(Array("\"text\"".utf8))
        let lines = OwnedBytes(Array("\"\"".utf8))
        let value = unsafe OperationValue(lines.bytes, owner: lines)
        let plan = OperationPlan(
            id: id,
            dependencies: dependencies,
            delay: delay,
            steps: steps + [.importing(value)],
            recovery: [.get("none")],
            source: source
        )
        traces.follow(source, lines, plan)
        return plan
    }

    /// Waits until nothing that is followed lives; the last release can come after the last event.
    private static func awaitEnd(of traces: Traces, _ bench: Bench) throws {
        bench.operations.drain(within: Patience.duration)
        while traces.liveCount > 0, !Task.isCancelled {
            sched_yield()
        }
        #expect(traces.count > 0)
        #expect(traces.liveCount == 0)
    }

    @Test func `finished, failed and cancelled operations are freed`() throws {
        let bench = Bench(limits: OperationLimits(historyCountMax: 0, executingMax: 4))
        let traces = Traces()
        for index in 0..<100 {
            _ = try bench.submit(Self.plan(traces, .put("a", "1"), .wait(.zero), .put("b", nil)))
            _ = try bench.submit(Self.plan(traces, .get("none")))
            let id = try bench.submit(Self.plan(traces, .wait(.seconds(60))))
            if index % 2 == 0 { _ = bench.operations.cancel(id) }
            _ = try bench.submit(Self.plan(traces, delay: .seconds(60), .get("a")))
        }
        bench.clock.advance(by: 1)
        try Self.awaitEnd(of: traces, bench)
        #expect(bench.clock.timerCount == 0)
    }

    @Test func `dependents do not keep what they depended on, and the other way round`()
        throws
    {
        let bench = Bench(limits: OperationLimits(historyCountMax: 0, executingMax: 4))
        let traces = Traces()
        _ = try bench.operations.submit([
            Self.plan(traces, id: "a", .wait(.seconds(1)), .get("none")),
            Self.plan(traces, id: "b", after: ["a"], .get("none")),
            Self.plan(traces, id: "c", after: ["b", "a"], .get("none")),
        ])
        try bench.clock.awaitTimer()
        let stop = bench.operations.observe("c") {}
        bench.clock.advance(by: 1_000)
        try Self.awaitEnd(of: traces, bench)
        stop()
    }

    @Test func `an operation in the history has its value, but not its steps`() throws {
        let bench = Bench(limits: OperationLimits(historyCountMax: 1))
        let traces = Traces()
        let first = try bench.submit(Self.plan(traces, .put("a", "1")))
        _ = try bench.end(of: first)
        try Self.awaitEnd(of: traces, bench)
        #expect(bench.operations.operation(first)?.value != nil)
    }

    @Test func `the operations themselves are freed while some wait`() throws {
        weak var operations: Operations?
        do {
            let bench = Bench()
            operations = bench.operations
            let id = try bench.submit(OperationPlan(steps: [.wait(.seconds(60))]))
            _ = try bench.state(of: id) { $0.step == 1 }
            _ = bench.operations.cancel(id)
            _ = try bench.end(of: id)
        }
        while operations != nil, !Task.isCancelled {
            sched_yield()
        }
        #expect(operations == nil)
    }
}
