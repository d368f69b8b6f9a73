import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Replicas that must not go on, and one whose log is silent.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StoppedReplicaTests {
    private static func entry(_ text: String) -> [UInt8] {
        var writer = LogEntryWriter()
        writer.add(LogEntryWriter.encoded(ReplicaTests.put(text), author: []))
        return writer.bytes(LogEntryTests.head())
    }

    @Test(arguments: [false, true])
    func `entries after one that cannot be read are not executed, also in a drain`(
        drainsFirst: Bool
    ) async {
        let log = MemoryLog(seed: 1)
        let state = StoreState()
        let cluster = ReplicaCluster(log, [state]) { $0.markNanoseconds = .max }
        let replica = cluster.replicas[0]
        cluster.settle()
        if drainsFirst { replica.drain() }
        log.insert([9])
        log.awaitDelivered(to: 0)
        replica.drain()
        let position = replica.position
        log.insert(Self.entry("1"))
        log.awaitDelivered(to: 0)
        guard case .diverged = replica.phase else {
            Issue.record("\(replica.phase)")
            return
        }
        #expect(replica.position == position && state.revision == 0)
        #expect(state.positions.read { $0.isEmpty })
    }

    @Test func `a replica of another log keeps its data, and does not need the log`() {
        #expect(ClockedReplica().replica.phase.needsLog)
        let events: [(LogEvent, needsLog: Bool)] = [
            (.wentBack(end: LogPlace(1)), false), (.otherLog("It was restored."), false),
            (.last(.start, Self.entry("1")), false), (.compacted, false),
            (.entry(LogPlace(1), [9]), true),
        ]
        for (event, needsLog) in events {
            let rig = ClockedReplica()
            rig.replica.receive(event)
            let phase = rig.replica.phase
            #expect(phase.isFinal && phase.needsLog == needsLog, "\(phase)")
            guard case .otherLog(let reason) = phase else { continue }
            #expect(reason.contains("can be the only copy of acknowledged writes"))
        }
    }

    /// Values that can be decoded, and ended the process once they were executed.
    private static let (half, empty) = (OwnedBytes(Array("{\"a\":[1".utf8)), OwnedBytes([]))

    private static func impossible() -> [(String, [UInt8])] {
        func changed(_ change: Change) -> [UInt8] {
            LogEntryTests.entry([LogEntryWriter.encoded(change, author: [])])
        }
        func step(_ action: Change.Action, ttl: TimeToLive? = nil) -> [UInt8] {
            changed(.step(Change.Step(ReplicaTests.name("a"), action, ttl: ttl)))
        }
        func changed(_ transaction: Transaction) -> [UInt8] { changed(.transaction(transaction)) }
        let name = ReplicaTests.name("a")
        let put = LogEntryWriter.encoded(ReplicaTests.put("1"), author: [])
        let claim = unsafe Change.Claim(ReplicaTests.name("b"), value: half.bytes)
        return unsafe [
            ("a pop by itself", step(.pop(nil))), ("a count by itself", step(.count)),
            ("a deletion by itself", step(.deletePrefix(countMax: 1, isWhole: true))),
            ("an empty value", step(.put(empty.bytes))), ("half a patch", step(.merge(half.bytes))),
            ("half a value", step(.put(half.bytes))), ("an endless touch", step(.touch)),
            (
                "half a claim",
                changed(Transaction([Change.Step(name, .pop(claim), ttl: 1)]))
            ),
            (
                "half a condition",
                changed(
                    Transaction(if: [Transaction.Condition(name, .equals(half.bytes))], [])
                )
            ),
            ("a time beyond 2262", LogEntryTests.entry([put], time: 9_223_372_036_855)),
        ]
    }

    @Test func `an entry that no replica writes stops a replica, and says so`() {
        for (name, entry) in Self.impossible() {
            let log = MemoryLog(seed: 1)
            let state = StoreState()
            let cluster = ReplicaCluster(log, [state]) { $0.markNanoseconds = .max }
            cluster.settle()
            log.insert(Self.entry("1"))
            log.insert(entry)
            log.insert(Self.entry("2"))
            log.awaitDelivered(to: 0)
            guard case .diverged(let reason) = cluster.replicas[0].phase else {
                Issue.record("\(name): \(cluster.replicas[0].phase)")
                continue
            }
            #expect(reason.contains("damaged, or is none that a replica writes"), "\(name)")
            #expect(state.revision == 1, "\(name)")
        }
    }

    @Test func `an entry with a replica's own number that it has not written stops it`() throws {
        for (sequence, isInFlight) in [(1, true), (9, false)] as [(UInt64, Bool)] {
            let log = MemoryLog(seed: 1)
            let state = StoreState()
            let cluster = ReplicaCluster(log, [state]) { $0.markNanoseconds = .max }
            let replica = cluster.replicas[0]
            cluster.settle()
            if isInFlight {
                log.hold(true)
                try replica.propose(ReplicaTests.put("5"), author: []) { _ in }
                while log.appendCount == 0 {}
            }
            var writer = LogEntryWriter()
            writer.add(LogEntryWriter.encoded(ReplicaTests.put("1"), author: []))
            log.insertFirst(
                writer.bytes(
                    LogEntry.Head(
                        writer: replica.settings.incarnation,
                        sequence: sequence,
                        time: Timestamp(milliseconds: 1),
                        asksForMark: false,
                        earlier: nil
                    )
                )
            )
            log.hold(false)
            log.awaitDelivered(to: 0)
            guard case .diverged(let reason) = replica.phase else {
                Issue.record("\(sequence): \(replica.phase)")
                continue
            }
            #expect(reason.contains("something else writes to the log"))
            #expect(state.revision == 0)
        }
    }

    /// A state that loses one change.
    private struct ForgettingState: ReplicatedState {
        let base: StoreState
        let forgets = Guarded(false)

        func decide(by rules: RuleLevel) { base.decide(by: rules) }

        func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
            let isForgotten = forgets.write { forgets in
                defer { forgets = false }
                return forgets
            }
            return isForgotten ? .failure(.missing) : base.execute(proposal, at: time)
        }

        func jump(to revision: Revision) { base.jump(to: revision) }
        func reaches(_ position: LogPosition) { base.reaches(position) }

        var revision: Revision { base.revision }

        func hash(completion: @escaping @Sendable (UInt64) -> Void) {
            base.hash(completion: completion)
        }
    }

    @Test func `a replica that has lost a change stops for good, and the others go on`() throws {
        let wrong = ForgettingState(base: StoreState())
        let states: [any ReplicatedState] = [wrong] + ReplicaTests.states()[1...]
        let cluster = ReplicaCluster(MemoryLog(seed: 1), states)
        cluster.settle()
        _ = cluster.change(1, ReplicaTests.put("1"))
        cluster.settle()
        wrong.forgets.write { $0 = true }
        let replica = cluster.replicas[0]
        // The suite's time bounds it. Each entry can ask for a mark.
        var number = 2
        while !replica.phase.isFinal {
            _ = cluster.change(1 + number % 2, ReplicaTests.put("\(number)"))
            number += 1
        }
        guard case .differs(let reason) = replica.phase else {
            Issue.record("\(replica.phase)")
            return
        }
        #expect(reason.contains("is not that of the other replicas"))
        let refused = cluster.change(0, ReplicaTests.put("0"))
        #expect(throws: Refusal.unavailable(.stopped)) { try refused.get() }
        for other in 1...2 {
            let made = cluster.change(other, ReplicaTests.put("a\(other)"))
            #expect(throws: Never.self) { try made.get() }
            #expect(cluster.replicas[other].phase == .serving)
        }
    }

    @Test func `a change is not sent to a silent log, so that it is known to be refused`() throws {
        let rig = ClockedReplica()
        let (log, replica, settings) = (rig.log, rig.replica, rig.replica.settings)
        log.cut(0, true)
        rig.pass(settings.silenceNanoseconds + 1)
        let decisions = Guarded<[Decision]>([])
        try replica.propose(ReplicaTests.put("1"), author: []) { decision in
            decisions.write { $0.append(decision) }
        }
        rig.pass(settings.refusalNanoseconds)
        #expect(log.appendCount == 0)
        #expect(decisions.read { $0.isEmpty })
        rig.pass(1)
        #expect(log.appendCount == 0)
        #expect(throws: Refusal.unavailable(.failing)) {
            try decisions.read { $0 }.first?.get()
        }
        // The replica goes on by itself.
        try replica.propose(ReplicaTests.put("2"), author: []) { decision in
            decisions.write { $0.append(decision) }
        }
        log.cut(0, false)
        while log.appendCount == 0 {
            rig.pass(settings.questionNanoseconds + 1)
            // The change must not grow too old meanwhile.
            rig.clock.write { $0 -= settings.questionNanoseconds }
        }
        // No time passes, so it is not sent again. The suite's time bounds it.
        while decisions.read({ $0.count }) < 2 {}
        #expect(log.appendCount == 1 && log.entries.count == 1)
    }
}
