import CLatchkeySystem
import Dispatch
import Foundation
public import LatchkeyStrategies

/// Checks the promises of a strategy on a workload made for that.
///
/// **Design.** Some threads read, write and compare-and-set four properties behind one guard. Each
/// records its own operations; the only thing that they share besides the guard is the clock of the
/// history. When all are done, the number of changes is compared with what the guarded value
/// counted, torn reads are added up, and the history is checked. None of it is timed, so the
/// recording may cost what it likes.
@usableFromInline
package enum StrategyVerdicts {
    static let threads = 4
    /// The most operations that each thread records.
    static let operationsMax = 6_000
    /// After how many seconds a thread stops even if it has recorded fewer.
    static let secondsMax = 0.4
    /// The fewest operations of a thread, which a busy machine may let begin late.
    static let operationsMin = 50
    /// Does an operation on the guarded value.
    private typealias Client = @Sendable (RegisterOperation) -> RegisterFinding

    /// The time of a check, with the search, on average over the strategies.
    static let estimatedSeconds = 0.3

    /// Checks a strategy by its name.
    ///
    /// - Parameters:
    ///   - kind: The strategy.
    ///   - seed: What the operations are drawn from.
    ///   - isInterrupted: Asked now and then while something is waited for.
    /// - Returns: A verdict for each check; nothing if it was interrupted.
    package static func check(
        _ kind: StrategyKind,
        seed: UInt64,
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) -> [ComparisonReport.Verdict] {
        let bound = BoundedWait(isInterrupted: isInterrupted)
        let guarded = AnySynchronized(Registers(), kind: kind)
        let blocking = kind.traits.appliesWritesAsynchronously ? nil : guarded.blocking
        let client = blocking.map { Self.client(blocking: $0) } ?? client(submitting: guarded)
        return check(kind.rawValue, guarded, seed, bound, client)
    }

    /// Checks a strategy through the access functions that programs would use: the blocking ones,
    /// unless it applies writes later.
    @usableFromInline
    static func check<ChosenStrategy: BlockingStrategy>(
        blocking strategy: ChosenStrategy,
        as name: String = ChosenStrategy.name,
        seed: UInt64,
        bound: BoundedWait = BoundedWait()
    ) -> [ComparisonReport.Verdict] {
        if ChosenStrategy.traits.appliesWritesAsynchronously {
            return check(submitting: strategy, as: name, seed: seed, bound: bound)
        }
        let guarded = Synchronized(Registers(), strategy: strategy)
        return check(name, guarded, seed, bound, client(blocking: guarded))
    }

    /// Checks a strategy through its submitting access functions.
    @usableFromInline
    static func check<ChosenStrategy: Strategy>(
        submitting strategy: ChosenStrategy,
        as name: String = ChosenStrategy.name,
        seed: UInt64,
        bound: BoundedWait = BoundedWait()
    ) -> [ComparisonReport.Verdict] {
        let guarded = Synchronized(Registers(), strategy: strategy)
        return check(name, guarded, seed, bound, client(submitting: guarded))
    }

    private static func client(
        blocking guarded: Synchronized<Registers, some BlockingStrategy>
    ) -> Client {
        { operation in
            operation.isRead
                ? guarded.read { $0.read(operation) } : guarded.write { $0.run(operation) }
        }
    }

    /// Each client waits for its completion.
    private static func client(
        submitting guarded: Synchronized<Registers, some Strategy>
    ) -> Client {
        { operation in
            let reply = Reply<RegisterFinding>()
            while true {
                do {
                    if operation.isRead {
                        try guarded.submitRead({ $0.read(operation) }, completion: reply.fulfil)
                    } else {
                        try guarded.submitWrite({ $0.run(operation) }, completion: reply.fulfil)
                    }
                    return reply.wait()
                } catch {
                    // The backlog is full: the others' accesses go on meanwhile.
                    continue
                }
            }
        }
    }

    /// The verdicts on what the clients record, or the one on a run that does not end.
    private static func check(
        _ name: String,
        _ guarded: Synchronized<Registers, some Strategy>,
        _ seed: UInt64,
        _ bound: BoundedWait,
        _ client: @escaping Client
    ) -> [ComparisonReport.Verdict] {
        do throws(MeasurementFailure) {
            let records = try record(seed: seed, bound, client)
            let final: [Registers] = try bound.results(count: 1) {
                (_, completion) throws(BacklogFull) in
                try guarded.submitRead({ $0 }, completion: completion)
            }
            return verdicts(name, records, final: final[0])
        } catch {
            guard case .stuck = error else { return [] }
            let verdict = ComparisonReport.Verdict(
                strategy: name,
                check: .counts,
                outcome: .failed,
                checkedCount: 0,
                finding: "An operation did not return within \(Int(bound.seconds)) s."
            )
            return [verdict]
        }
    }

    /// Runs the threads, each of which records what `perform` found.
    private static func record(
        seed: UInt64,
        _ bound: BoundedWait,
        _ client: @escaping Client
    ) throws(MeasurementFailure) -> [ClientRecord] {
        let clock = HistoryClock()
        let records = Guarded<[ClientRecord]>([])
        let left = DispatchGroup()
        let end = latchkey_system_nanoseconds() + UInt64(secondsMax * 1e9)
        for number in 0..<threads {
            left.enter()
            Thread.detachNewThread {
                var record = ClientRecord(client: number, seed: seed)
                while record.history.count < operationsMax,
                    record.history.count < operationsMin || latchkey_system_nanoseconds() < end
                {
                    record.add(clock, client)
                }
                records.write { [record] in $0.append(record) }
                left.leave()
            }
        }
        try bound.wait(for: left)
        return records.read { $0 }
    }

    private static func verdicts(
        _ name: String,
        _ records: [ClientRecord],
        final: Registers
    ) -> [ComparisonReport.Verdict] {
        let history = records.flatMap(\.history)
        let changes = history.count { $0.left != nil }
        let torn = records.reduce(0) { $0 + $1.tornCount }
        let reads = records.reduce(0) { $0 + $1.readCount }
        func verdict(
            _ check: ComparisonReport.Verdict.Check,
            _ checkedCount: Int,
            _ finding: String?
        ) -> ComparisonReport.Verdict {
            ComparisonReport.Verdict(
                strategy: name,
                check: check,
                outcome: finding == nil ? .passed : .failed,
                checkedCount: checkedCount,
                finding: finding
            )
        }
        var linearizability = verdict(.linearizability, history.count, nil)
        switch LinearizabilityCheck.check(history, start: 0) {
        case .linearizable: break
        case .undecided:
            linearizability.outcome = .undecided
            linearizability.finding = "The search for an order reached its bound."
        case .violated(let why):
            linearizability.outcome = .failed
            linearizability.finding = why
        }
        return [
            verdict(
                .counts,
                changes,
                final.changes == UInt64(changes)
                    ? nil
                    : "\(changes) changes were made, and the value counted \(final.changes)."
            ),
            verdict(
                .tornReads,
                reads,
                torn == 0 ? nil : "\(torn) of \(reads) reads found one field without the other."
            ),
            linearizability,
        ]
    }
}

/// The record of one client.
private struct ClientRecord: Sendable {
    let client: Int
    private(set) var history: [RecordedOperation] = []
    private(set) var readCount = 0
    private(set) var tornCount = 0

    private var random: SeededRandom
    /// The value of each property when the client last saw it: what it compares with.
    private var seen = [UInt64](repeating: 0, count: Registers.propertyCount)

    init(client: Int, seed: UInt64) {
        self.client = client
        random = SeededRandom(seed: seed &+ UInt64(client) &* 0x1_0001)
        history.reserveCapacity(StrategyVerdicts.operationsMax)
    }

    /// Does one more operation: half reads, the rest writes and compare-and-sets in equal parts.
    mutating func add(
        _ clock: HistoryClock,
        _ perform: (RegisterOperation) -> RegisterFinding
    ) {
        let property = Int.random(in: 0..<Registers.propertyCount, using: &random)
        // No two writes write the same, so that a read says which one it saw.
        let new = UInt64(client + 1) << 32 | UInt64(history.count + 1)
        let action: RecordedOperation.Action =
            switch random.next() % 4 {
            case 0: .write(new)
            case 1: .compareAndSet(expected: seen[property], new: new, succeeded: false)
            default: .read(found: 0)
            }
        let operation = RegisterOperation(
            property: property,
            action: action,
            pause: Pause(&random)
        )
        let invokedAt = clock.next()
        let found = perform(operation)
        let respondedAt = clock.next()
        seen[property] = found.value
        readCount += operation.isRead ? 1 : 0
        tornCount += found.isTorn ? 1 : 0
        history.append(
            RecordedOperation(
                client: client,
                property: property,
                action: found.action,
                invokedAt: invokedAt,
                respondedAt: respondedAt
            )
        )
    }
}

/// A value that one thread waits for and another one gives.
///
/// SAFETY: `@unchecked Sendable` because `value` is set once, before the signal, and read after
/// the wait that the signal ends.
private final class Reply<Value: Sendable>: @unchecked Sendable {
    private var value: Value?
    private let arrived = DispatchSemaphore(value: 0)

    func fulfil(_ value: Value) {
        self.value = value
        arrived.signal()
    }

    func wait() -> Value {
        arrived.wait()
        guard let value else {
            preconditionFailure("The reply was signalled without a value.")
        }
        return value
    }
}
