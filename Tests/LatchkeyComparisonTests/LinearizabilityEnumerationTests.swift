import LatchkeyTestSupport
import Testing

@testable import LatchkeyComparison

/// The search against trying every order, on small histories of which some have one.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LinearizabilityEnumerationTests {
    private static let historiesCount = 6_000

    @Test func `the search agrees with an enumeration of all orders`() async {
        var counts = (linearizable: 0, violated: 0)
        var random = SeededRandom(seed: 24)
        for _ in 0..<Self.historiesCount {
            let history = SmallHistory.random(&random)
            let expected = SmallHistory.hasOrder(history)
            let found = LinearizabilityCheck.check(history, start: 0)
            #expect((found == .linearizable) == expected, "\(history): \(found)")
            #expect(found != .undecided)
            counts.linearizable += expected ? 1 : 0
            counts.violated += expected ? 0 : 1
        }
        // Otherwise the histories would not ask the search anything.
        #expect(counts.linearizable > Self.historiesCount / 5)
        #expect(counts.violated > Self.historiesCount / 5)
    }
}

private enum SmallHistory {
    static let operationsMax = 6
    static let clientsMax = 4
    /// So few that most of them are written more than once.
    static let values = 0...2 as ClosedRange<UInt64>

    /// Up to six operations of a register that works, of which in every other history some are
    /// replaced by whatever comes.
    static func random(_ random: inout SeededRandom) -> [RecordedOperation] {
        let count = Int.random(in: 1...operationsMax, using: &random)
        let clients = Int.random(in: 1...clientsMax, using: &random)
        var pending: [Int: (operation: RecordedOperation, isDone: Bool)] = [:]
        var history: [RecordedOperation] = []
        var (value, now, begunCount) = (0 as UInt64, 0 as UInt64, 0)
        while history.count < count {
            let client = Int.random(in: 0..<clients, using: &random)
            now += 1
            guard var (operation, isDone) = pending[client] else {
                guard begunCount < count else { continue }
                begunCount += 1
                let began = RecordedOperation(
                    client: client,
                    property: 0,
                    action: action(&random),
                    invokedAt: now,
                    respondedAt: 0
                )
                pending[client] = (began, false)
                continue
            }
            if !isDone {
                operation.action = effect(of: operation.action, on: &value)
                isDone = true
            }
            // It may respond at once, or only after others have taken effect.
            if Bool.random(using: &random) {
                operation.respondedAt = now
                history.append(operation)
                pending[client] = nil
            } else {
                pending[client] = (operation, isDone)
            }
        }
        if Bool.random(using: &random) {
            for _ in 0...Int.random(in: 0..<2, using: &random) {
                let index = Int.random(in: history.indices, using: &random)
                history[index].action = action(&random)
            }
        }
        return history
    }

    private static func action(_ random: inout SeededRandom) -> RecordedOperation.Action {
        let (one, other) = (
            UInt64.random(in: values, using: &random), UInt64.random(in: values, using: &random)
        )
        switch random.next() % 3 {
        case 0: return .read(found: one)
        case 1: return .write(one)
        default:
            let succeeded = Bool.random(using: &random)
            return .compareAndSet(expected: one, new: other, succeeded: succeeded)
        }
    }

    /// What the operation would have to say, done now.
    private static func effect(
        of action: RecordedOperation.Action,
        on value: inout UInt64
    ) -> RecordedOperation.Action {
        switch action {
        case .read:
            return .read(found: value)
        case .write(let new):
            value = new
            return action
        case .compareAndSet(let expected, let new, _):
            let succeeded = value == expected
            value = succeeded ? new : value
            return .compareAndSet(expected: expected, new: new, succeeded: succeeded)
        }
    }

    /// Whether one of all orders explains the history: every operation comes after those that had
    /// ended before it began, and says what a register would say there.
    static func hasOrder(_ left: [RecordedOperation], value: UInt64 = 0) -> Bool {
        left.isEmpty
            || left.indices.contains { index in
                let next = left[index]
                guard !left.contains(where: { $0.respondedAt < next.invokedAt }) else {
                    return false
                }
                var after = value
                guard effect(of: next.action, on: &after) == next.action else { return false }
                var rest = left
                rest.remove(at: index)
                return hasOrder(rest, value: after)
            }
    }
}
