import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// Histories are drawn with a line for each operation: client, when, and what.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LinearizabilityTests {
    private typealias Action = RecordedOperation.Action

    private func history(
        _ operations: (client: Int, ClosedRange<UInt64>, action: RecordedOperation.Action)...
    ) -> [RecordedOperation] {
        operations.map { client, time, action in
            RecordedOperation(
                client: client,
                property: 0,
                action: action,
                invokedAt: time.lowerBound,
                respondedAt: time.upperBound
            )
        }
    }

    private func isLinearizable(_ history: [RecordedOperation]) -> Bool {
        LinearizabilityCheck.check(history, start: 0) == .linearizable
    }

    @Test func `nothing happened`() {
        #expect(isLinearizable([]))
    }

    @Test func `a read during a write may find either value`() {
        for found in [0, 1] as [UInt64] {
            #expect(
                isLinearizable(history((0, 1...10, .write(1)), (1, 2...3, .read(found: found))))
            )
        }
    }

    @Test func `a read after a write finds it`() {
        #expect(isLinearizable(history((0, 1...2, .write(1)), (1, 3...4, .read(found: 1)))))
        #expect(!isLinearizable(history((0, 1...2, .write(1)), (1, 3...4, .read(found: 0)))))
    }

    @Test func `the new value and then the old one is no order`() {
        #expect(
            !isLinearizable(
                history(
                    (0, 1...10, .write(1)),
                    (1, 2...3, .read(found: 1)),
                    (2, 4...5, .read(found: 0))
                )
            )
        )
    }

    @Test func `of two overlapping writes either may be the last`() {
        for last in [1, 2] as [UInt64] {
            #expect(
                isLinearizable(
                    history(
                        (0, 1...10, .write(1)),
                        (1, 2...9, .write(2)),
                        (2, 11...12, .read(found: last))
                    )
                )
            )
        }
    }

    @Test func `readers must agree on which write was the last`() {
        #expect(
            !isLinearizable(
                history(
                    (0, 1...10, .write(1)),
                    (1, 2...9, .write(2)),
                    (2, 11...12, .read(found: 1)),
                    (3, 13...14, .read(found: 2))
                )
            )
        )
    }

    @Test func `only one of two compare-and-sets with the same expectation succeeds`() {
        func both(_ second: Bool) -> [RecordedOperation] {
            history(
                (0, 1...10, .compareAndSet(expected: 0, new: 1, succeeded: true)),
                (1, 2...9, .compareAndSet(expected: 0, new: 2, succeeded: second))
            )
        }
        #expect(isLinearizable(both(false)))
        #expect(!isLinearizable(both(true)))
    }

    @Test func `a compare-and-set that had no reason to fail is found`() {
        #expect(
            !isLinearizable(
                history((0, 1...2, .compareAndSet(expected: 0, new: 1, succeeded: false)))
            )
        )
    }

    @Test func `a wrong first guess is taken back`() {
        // The write that responds first must be ordered last.
        #expect(
            isLinearizable(
                history(
                    (0, 1...5, .write(1)),
                    (1, 2...20, .write(2)),
                    (2, 3...21, .write(3)),
                    (0, 6...7, .read(found: 2)),
                    (3, 22...23, .read(found: 3))
                )
            )
        )
    }

    @Test func `properties are independent of each other`() {
        var operations = history((0, 1...2, .write(1)), (1, 3...4, .read(found: 0)))
        operations[1].property = 1
        #expect(isLinearizable(operations))
    }

    @Test func `the finding names the property and what could not be ordered`() {
        let outcome = LinearizabilityCheck.check(
            history((0, 1...2, .write(1)), (1, 3...4, .read(found: 9))),
            start: 0
        )
        #expect(
            outcome
                == .violated(
                    """
                    Property 0: no order explains the history. The longest one has 1 of 2 \
                    operations and ends with the value 1. Next would be one of: \
                    client 1 read 9 [3-4].
                    """
                )
        )
    }

    @Test func `the finding names the late reader of an old value`() {
        let outcome = LinearizabilityCheck.check(
            history((0, 1...2, .write(1)), (1, 3...4, .read(found: 0))),
            start: 0
        )
        guard case .violated(let why) = outcome else {
            Issue.record("The check says \(outcome).")
            return
        }
        #expect(why.contains("That value must stay, because client 1 read 0 [3-4]."))
    }

    @Test func `a search that reaches its bound says that it did not decide`() {
        // Twelve writes at once, which two readers saw in an order that cannot be: all the others
        // must be tried in every order.
        var operations = (0..<12).map { client in
            RecordedOperation(
                client: client,
                property: 0,
                action: .write(UInt64(client + 1)),
                invokedAt: UInt64(client + 1),
                respondedAt: UInt64(100 + client)
            )
        }
        operations += history(
            (20, 200...201, .read(found: 1)),
            (20, 202...203, .read(found: 1)),
            (21, 190...191, .compareAndSet(expected: 1, new: 1, succeeded: false)),
            (22, 204...205, .read(found: 2))
        )
        let outcome = LinearizabilityCheck.check(operations, start: 0, configurationsMax: 100)
        #expect(outcome == .undecided)
    }

    @Test func `a hundred thousand operations are checked`() async {
        let history = simulated(count: 100_000, clients: 8, properties: 4)
        let outcome = LinearizabilityCheck.check(history, start: 0)
        #expect(outcome == .linearizable)
    }

    @Test func `one stale read among a hundred thousand operations is found`() async throws {
        var history = simulated(count: 100_000, clients: 8, properties: 4)
        let index = try #require(
            history.indices.last { index in
                guard case .read(let found) = history[index].action else { return false }
                return found != 0 && index > 50_000
            }
        )
        history[index].action = .read(found: 0)
        let outcome = LinearizabilityCheck.check(history, start: 0)
        guard case .violated = outcome else {
            Issue.record("The check says \(outcome).")
            return
        }
    }

    /// A history that has an order: operations take effect one after the other at random moments
    /// inside of what is recorded, with as many under way as there are clients.
    @Sendable private func simulated(
        count: Int,
        clients: Int,
        properties: Int
    ) -> [RecordedOperation] {
        var random = SeededRandom(seed: 17)
        var values = [UInt64](repeating: 0, count: properties)
        var pending: [Int: (operation: RecordedOperation, isDone: Bool)] = [:]
        var history: [RecordedOperation] = []
        var now: UInt64 = 0
        while history.count < count {
            now += 1
            let client = Int.random(in: 0..<clients, using: &random)
            guard var (operation, isDone) = pending[client] else {
                let property = Int.random(in: 0..<properties, using: &random)
                let action: RecordedOperation.Action =
                    switch random.next() % 4 {
                    case 0: .write(now)
                    case 1: .compareAndSet(expected: values[property], new: now, succeeded: false)
                    default: .read(found: 0)
                    }
                let began = RecordedOperation(
                    client: client,
                    property: property,
                    action: action,
                    invokedAt: now,
                    respondedAt: 0
                )
                pending[client] = (began, false)
                continue
            }
            if isDone {
                operation.respondedAt = now
                history.append(operation)
                pending[client] = nil
                continue
            }
            let value = values[operation.property]
            switch operation.action {
            case .read: operation.action = .read(found: value)
            case .write(let new): values[operation.property] = new
            case .compareAndSet(let expected, let new, _):
                let succeeded = expected == value
                operation.action = .compareAndSet(
                    expected: expected,
                    new: new,
                    succeeded: succeeded
                )
                if succeeded {
                    values[operation.property] = new
                }
            }
            isDone = true
            pending[client] = (operation, isDone)
        }
        // What took effect and has not responded was seen by others, so it must be there.
        for (operation, isDone) in pending.values where isDone {
            now += 1
            var last = operation
            last.respondedAt = now
            history.append(last)
        }
        return history
    }
}
