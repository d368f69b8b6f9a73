import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// A state that notes by which rules each change was decided, and by the second rules refuses odd
/// values: so states differ if the rules are raised at different places.
struct RuledState: ReplicatedState {
    struct Executed: Hashable, Sendable {
        let change: [UInt8]
        let rules: RuleLevel

        init(_ change: Change, _ rules: RuleLevel) {
            self.change = change.encoded()
            self.rules = rules
        }
    }

    let base: any ReplicatedState
    private let rules = Guarded(RuleLevel.first)
    private let changes = Guarded<[Executed]>([])

    init(_ base: any ReplicatedState) {
        self.base = base
    }

    static func three() -> [Self] { ReplicaTests.states().map { Self($0) } }

    /// The executed changes, in this order.
    var executed: [Executed] { changes.read { $0 } }

    func decide(by rules: RuleLevel) {
        self.rules.write { $0 = rules }
        base.decide(by: rules)
    }

    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        let executed = Executed(proposal.change, rules.read { $0 })
        changes.write { $0.append(executed) }
        let isOdd = executed.change.last.map { $0 & 1 == 1 } ?? false
        guard executed.rules == .first || !isOdd else { return .failure(.missing) }
        return base.execute(proposal, at: time)
    }

    func jump(to revision: Revision) { base.jump(to: revision) }
    func reaches(_ position: LogPosition) { base.reaches(position) }

    var revision: Revision { base.revision }

    func hash(completion: @escaping @Sendable (UInt64) -> Void) {
        base.hash(completion: completion)
    }
}

/// Replicas of different versions, and the raise of the rules.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct UpgradeTests {
    private static func entry(_ text: String, _ head: LogEntry.Head) -> [UInt8] {
        var writer = LogEntryWriter()
        writer.add(LogEntryWriter.encoded(ReplicaTests.put(text), author: []))
        return writer.bytes(head)
    }

    @Test func `an upgrade goes replica by replica, and an old one stops where rules are raised`()
        throws
    {
        let states = RuledState.three()
        let log = MemoryLog(seed: 1)
        let known = Guarded<[RuleLevel]>([.first, .second, .second])
        let cluster = ReplicaCluster(log, states) { settings in
            settings.known = known.write { $0.removeFirst() }
        }
        let (old, new) = (cluster.replicas[0], cluster.replicas[1])
        cluster.settle()
        // It does not know them.
        old.raise(to: .second)
        for replica in 0..<3 { _ = cluster.change(replica, ReplicaTests.put("1")) }
        #expect(log.entries.allSatisfy { $0[0] == 1 })
        // The record of this replica was forgotten, but the replica is still there.
        new.raise(to: .second)
        for number in 1..<4 {
            let decision = cluster.change(1 + number % 2, ReplicaTests.put("\(2 * number)"))
            #expect(throws: Never.self) { try decision.get() }
        }
        let refused = cluster.change(1, ReplicaTests.put("9"))
        #expect(throws: Refusal.missing) { try refused.get() }
        #expect(eventually { !old.isRunning })
        guard case .diverged(let reason) = old.phase else {
            Issue.record("\(old.phase)")
            return
        }
        #expect(reason.contains("has format 2") && reason.contains("update this replica"))
        #expect(old.position.rules == .first)
        #expect(states[0].executed.allSatisfy { $0.rules == .first })
        cluster.settle(but: [0])
        #expect(cluster.replicas[1...].allSatisfy { $0.phase == .serving })
        let late = cluster.change(0, ReplicaTests.put("9"))
        #expect(throws: Refusal.unavailable(.stopped)) { try late.get() }
        let digests = try ReplicaTests.digests(states)
        #expect(digests[1] == digests[2] && digests[0] != digests[1])
    }

    @Test(arguments: [0, 30])
    func `all replicas raise the rules at one place, and make each change once`(
        faultPercent: Int
    ) throws {
        let states = RuledState.three()
        let log = MemoryLog(seed: 46, faultPercent: faultPercent)
        let cluster = ReplicaCluster(log, states)
        cluster.settle()
        let executed = Guarded<[[UInt8]]>([])
        let threads = (0..<6).map { client in
            TestThread {
                for number in 0..<60 {
                    // All but the first of them can raise them.
                    if number == 20, client > 0 { cluster.replicas[client % 3].raise(to: .second) }
                    let change = ReplicaTests.put("\(client * 1000 + number)")
                    switch cluster.change(client % 3, change) {
                    case .success, .failure(.missing):
                        executed.write { $0.append(change.encoded()) }
                    case .failure(let refusal): Issue.record("\(refusal)")
                    }
                }
            }
        }
        for thread in threads { #expect(thread.join()) }
        cluster.settle()
        let all = states.map(\.executed)
        #expect(all[0] == all[1] && all[0] == all[2])
        #expect(try Set(ReplicaTests.digests(states)).count == 1)
        #expect(all[0].map(\.rules) == all[0].map(\.rules).sorted())
        #expect(Set(all[0].map(\.rules)) == [.first, .second])
        let decided = executed.read { $0 }.sorted(by: Self.isBefore)
        #expect(all[0].map(\.change).sorted(by: Self.isBefore) == decided)
        #expect(cluster.replicas.allSatisfy { $0.position.rules == .second })
    }

    private static func isBefore(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.lexicographicallyPrecedes(other)
    }

    @Test func `the entry that raises the rules has what waits, and what was before it stays`()
        throws
    {
        let state = RuledState(StoreState())
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, [state])
        let replica = cluster.replicas[0]
        cluster.settle()
        log.hold(true)
        let made = Arrivals()
        for text in ["1", "3", "4"] {
            // The first one is on its way, and the others wait for it.
            try replica.propose(ReplicaTests.put(text), author: []) { _ in made.arrive() }
            #expect(eventually { !log.entries.isEmpty })
        }
        replica.raise(to: .second)
        log.hold(false)
        #expect(made.wait(for: 3))
        cluster.settle()
        #expect(
            state.executed == [
                .init(ReplicaTests.put("1"), .first), .init(ReplicaTests.put("3"), .second),
                .init(ReplicaTests.put("4"), .second),
            ]
        )
        #expect(state.revision == 2)
        let last = try #require(log.entries.last)
        #expect(try LogEntry(decoding: last).head.raisesRules)
    }

    @Test func `a change sent before the raise that comes after it is made once, by the new rules`()
        throws
    {
        let states = RuledState.three()
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, states)
        cluster.settle()
        log.hold(true)
        cluster.replicas[1].raise(to: .second)
        #expect(eventually { log.entries.contains { $0[0] == 2 } })
        let decision = Guarded<Decision?>(nil)
        let writer = TestThread {
            let made = cluster.change(0, ReplicaTests.put("2"))
            decision.write { $0 = made }
        }
        #expect(eventually { log.entries.contains { $0[0] == 1 } })
        log.hold(false)
        #expect(writer.join())
        #expect(throws: Never.self) { try decision.read { $0 }?.get() }
        cluster.settle()
        for state in states {
            #expect(state.executed == [.init(ReplicaTests.put("2"), .second)])
        }
        #expect(try Set(ReplicaTests.digests(states)).count == 1)
    }

    @Test func `an entry of earlier rules after the raise is skipped, also after a restart`()
        throws
    {
        let states = RuledState.three()
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, states) { $0.markNanoseconds = .max }
        cluster.settle()
        cluster.replicas[2].raise(to: .second)
        #expect(eventually { cluster.replicas.allSatisfy { $0.position.rules == .second } })
        cluster.settle()
        // A replica of 0.1 that was cut off has sent it.
        let late = Self.entry("2", LogEntryTests.head())
        log.insert(late)
        // Its changes are not read, either.
        log.insert(Array(late.dropLast(3)))
        log.insert(late)
        cluster.settle()
        #expect(states.allSatisfy { $0.executed.isEmpty })
        let position = cluster.replicas[0].position
        #expect(position.place.number == UInt64(log.entries.count))
        let restarted = try #require(LogPosition(decoding: position.encoded))
        let again = RuledState(StoreState())
        let other = ReplicaCluster(log, [again], at: restarted)
        other.settle()
        let decision = other.change(0, ReplicaTests.put("3"))
        #expect(throws: Refusal.missing) { try decision.get() }
        #expect(again.executed == [.init(ReplicaTests.put("3"), .second)])
    }

    @Test func `an entry of later rules before they were raised stops the replica`() {
        let state = RuledState(StoreState())
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, [state])
        cluster.settle()
        log.insert(Self.entry("2", LogEntryTests.head(.second)))
        #expect(eventually { !cluster.replicas[0].isRunning })
        guard case .diverged(let reason) = cluster.replicas[0].phase else {
            Issue.record("\(cluster.replicas[0].phase)")
            return
        }
        #expect(reason.contains("none before it has raised the rules"))
        #expect(state.executed.isEmpty && cluster.replicas[0].position.place == .start)
    }

    @Test func `a replica that has stopped sends nothing again`() throws {
        let log = MemoryLog(seed: 2)
        let cluster = ReplicaCluster(log, [ReplicaTests.states()[0]]) { settings in
            settings.unknownNanoseconds = 200_000_000
        }
        cluster.settle()
        log.hold(true)
        log.insert([9])
        let decision = Guarded<Decision?>(nil)
        let writer = TestThread {
            let made = cluster.change(0, ReplicaTests.put("1"))
            decision.write { $0 = made }
        }
        #expect(eventually { log.entries.count >= 3 })
        log.hold(false)
        #expect(eventually { !cluster.replicas[0].isRunning })
        let count = log.entries.count
        // The writer is told after the time of several repetitions.
        #expect(writer.join())
        #expect(throws: Refusal.unavailable(.unknown)) { try decision.read { $0 }?.get() }
        #expect(log.entries.count <= count + 1)
    }
}
