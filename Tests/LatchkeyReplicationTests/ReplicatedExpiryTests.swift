import LatchkeyGuards
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// A state whose replica removes what expires, by the clock of the test, and that notes how.
private struct ExpiringState: ReplicatedState {
    let base: StoreState
    let expiries: ExpiryQueue
    /// The replica, once it is there.
    let replica: Guarded<Replica?>
    private let commits = Guarded<[[String]]>([])

    init(_ stripeCount: Int, _ clock: StoreClock) {
        base = StoreState(stripeCount: stripeCount)
        let replica = Guarded<Replica?>(nil)
        self.replica = replica
        expiries = ExpiryQueue(
            clock: clock,
            rules: { replica.read { $0 }?.position.rules ?? .first }
        )
        expiries.start(base.store, by: ProposingStore(base: base.store, replica: replica))
    }

    /// The names that each expiry has removed, in the order of the log.
    var expired: [[String]] { commits.read { $0 } }

    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        let decision = base.execute(proposal, at: time)
        guard case .success(let commit) = decision, !commit.isEmpty else { return decision }
        expiries.note(commit)
        let names = commit.effects.filter { $0.reason == .expired }.map { effect in
            unsafe String(decoding: effect.nameBytes, as: UTF8.self)
        }
        if !names.isEmpty { commits.write { $0.append(names) } }
        return decision
    }

    func decide(by rules: RuleLevel) { base.decide(by: rules) }
    func jump(to revision: Revision) { base.jump(to: revision) }
    func reaches(_ position: LogPosition) { base.reaches(position) }
    var revision: Revision { base.revision }

    func hash(completion: @escaping @Sendable (UInt64) -> Void) {
        base.hash(completion: completion)
    }
}

/// The store for a replica's queue: its own store, and the log for changes.
private struct ProposingStore: CommittingStore {
    let base: PropertyStore
    let replica: Guarded<Replica?>

    func commit(
        _ change: Change,
        attempt: Int,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard let replica = replica.read({ $0 }) else { throw BacklogFull() }
        try replica.propose(change, author: []) { receiver.receive($0) }
    }

    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        _ ask: Ask,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.look(name, in: scope, ask, completion: completion)
    }

    func list(
        _ request: PageRequest,
        _ ask: Ask,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        base.list(request, ask, completion: completion)
    }

    func snapshot(_ ask: Ask, completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(ask, completion: completion)
    }
}

/// Three replicas, each of which proposes to remove what expires.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ReplicatedExpiryTests {
    private static func put(_ names: some Sequence<String>) -> Change {
        let one = OwnedBytes([0x31])
        let steps = names.map {
            unsafe Change.Step(ReplicaTests.name($0), .put(one.bytes), ttl: 5)
        }
        return withExtendedLifetime(one) { .owned(.transaction(Transaction(steps))) }
    }

    @Test(arguments: [0, 30])
    func `replicas remove the same names together, one by one until the rules are raised`(
        faultPercent: Int
    ) throws {
        let now = Guarded<Int64>(1000)
        let clock = StoreClock { Timestamp(milliseconds: now.read { $0 }) }
        let states = [1, 4, 8].map { ExpiringState($0, clock) }
        let log = MemoryLog(seed: 47, faultPercent: faultPercent)
        let cluster = ReplicaCluster(log, states, clock: clock)
        for (state, replica) in zip(states, cluster.replicas) {
            state.replica.write { $0 = replica }
        }
        defer {
            for state in states { state.replica.write { $0 = nil } }
        }
        cluster.settle()

        let few = ["c", "a", "b"]
        _ = try cluster.change(0, Self.put(few)).get()
        // A replica that lags would begin with the first name that it gets to know.
        cluster.settle()
        now.write { $0 += 5 }
        #expect(eventually { states.allSatisfy { $0.expired.count == 3 } })
        #expect(states.allSatisfy { $0.expired == [["a"], ["b"], ["c"]] })

        cluster.replicas[1].raise(to: .second)
        #expect(eventually { cluster.replicas.allSatisfy { $0.position.rules == .second } })
        let names = (0..<2500).map { "limits/\($0)" }
        // All at one instant.
        for first in stride(from: 0, to: names.count, by: 500) {
            _ = try cluster.change(2, Self.put(names[first..<first + 500])).get()
        }
        // A replica that lags would not know all of them.
        cluster.settle()
        now.write { $0 += 5 }
        #expect(eventually { states.allSatisfy { $0.expired.joined().count == 2503 } })
        let sorted = names.sorted()
        let cut = [sorted[..<1000], sorted[1000..<2000], sorted[2000...]].map { Array($0) }
        for state in states { #expect(Array(state.expired[3...]) == cut) }
        cluster.settle()
        #expect(try Set(ReplicaTests.digests(states)).count == 1)
        #expect(cluster.replicas.allSatisfy { $0.phase == .serving })
    }

    /// 0.1 does not read it, either.
    @Test func `an entry of the first rules has no expiry of several names`() throws {
        let name = ReplicaTests.name("a")
        let step = Change.Step(name, .expire, Conditions(ifMatch: .oneOf([1])))
        for (count, isRead) in [(1, true), (2, false)] {
            let steps = Array(repeating: step, count: count)
            let change: Change =
                count == 1 ? .step(step) : .transaction(Transaction(steps))
            for rules in [RuleLevel.first, .second] {
                var writer = LogEntryWriter()
                writer.add(LogEntryWriter.encoded(change, author: []))
                let bytes = writer.bytes(LogEntryTests.head(rules))
                let entry = try? LogEntry(decoding: bytes)
                #expect((entry != nil) == (isRead || rules == .second), "\(count) \(rules)")
            }
        }
    }
}
