import Dispatch
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// A replica that serves, under a clock that a test drives.
struct ClockedReplica {
    let log = MemoryLog(seed: 1)
    let clock = Guarded<UInt64>(1)
    let state = StoreState()
    let replica: Replica
    /// The decisions on changes, by their order.
    let decisions = Guarded<[Int: Decision]>([:])
    /// The limits that the log's refusals have led to.
    let bounds = Guarded<[Int]>([])
    /// How often the owner was told that more is known of the log.
    let identifiedCount = Guarded(0)

    init(at position: LogPosition = LogPosition()) {
        replica = Replica(
            Replica.Settings(incarnation: 1),
            log: log.member(0),
            store: state,
            at: position,
            Replica.Clocks(
                nanoseconds: { [clock] in clock.read { $0 } },
                calendar: { StoreClock.system.now() }
            ),
            Replica.Callbacks(
                isLevel: { _ in },
                changed: { _ in },
                advanced: { _ in },
                shortened: { [bounds] byteCount in bounds.write { $0.append(byteCount) } },
                identified: { [identifiedCount] in identifiedCount.write { $0 += 1 } }
            )
        )
        replica.start()
        _ = eventually { [replica] in replica.phase == .serving }
        log.awaitEnds(of: 0)
    }

    /// Lets time pass, and does what is due then.
    func pass(_ nanoseconds: UInt64) {
        clock.write { $0 += nanoseconds }
        replica.tick()
        replica.queue.sync {}
    }

    /// Lets time pass; then the log answers a question.
    func passHearing(_ nanoseconds: UInt64) {
        pass(nanoseconds)
        log.awaitEnds(of: 0)
    }

    /// Proposes a change, whose decision is kept under a number.
    func propose(_ number: Int, _ change: Change) throws {
        try replica.propose(change, author: []) { [decisions] decision in
            decisions.write { $0[number] = decision }
        }
        replica.queue.sync {}
    }

    /// The decision of a change, once it is there.
    func decision(_ number: Int) throws -> Decision {
        _ = eventually { [decisions] in decisions.read { $0[number] } != nil }
        return try #require(decisions.read { $0[number] })
    }
}

/// An entry that does not come, under a clock that a test drives.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EntryRepetitionTests {
    @Test func `an entry that does not come is sent again, first often and then more rarely`()
        throws
    {
        let rig = ClockedReplica()
        let (log, replica) = (rig.log, rig.replica)
        log.cut(0, true)
        try replica.propose(ReplicaTests.put("1"), author: []) { _ in }
        replica.queue.sync {}
        #expect(log.appendCount == 1)
        let counts = (0..<20).map { _ in
            rig.pass(replica.settings.repetitionNanoseconds + 1)
            return log.appendCount
        }
        #expect(counts == [2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 11, 11, 12, 12])
    }

    /// The time in which the log answers one question.
    private static let step: UInt64 = 250_000_000

    @Test func `an entry is repeated at another server only if the log said nothing meanwhile`()
        throws
    {
        let rig = ClockedReplica()
        rig.log.setSlow()
        try rig.propose(0, ReplicaTests.put("1"))
        for _ in 0..<8 { rig.passHearing(Self.step) }
        #expect(rig.log.appendCount == 3)
        #expect(rig.log.moveCount(0) == 0)
        rig.log.cut(0, true)
        let moveCounts = (0..<3).map { _ in
            rig.pass(rig.replica.settings.repetitionNanoseconds + 1)
            return rig.log.moveCount(0)
        }
        // The log answered after the third sending, and not after the fourth.
        #expect(moveCounts == [0, 1, 2])
        #expect(rig.replica.counts.repetitions == 5)
    }

    @Test func `a server that has the entry and does not deliver it is left`() throws {
        let rig = ClockedReplica()
        rig.log.hold(true)
        try rig.propose(0, ReplicaTests.put("1"))
        let moveCounts = (0..<8).map { _ in
            rig.passHearing(Self.step)
            return rig.log.moveCount(0)
        }
        #expect(moveCounts == [0, 0, 1, 1, 1, 2, 2, 2])
        rig.log.hold(false)
        _ = try rig.decision(0).get()
    }

    @Test func `a server that never takes the entry is left after some repetitions`() throws {
        let rig = ClockedReplica()
        rig.log.setSlow()
        try rig.propose(0, ReplicaTests.put("1"))
        for _ in 0..<16 { rig.passHearing(Self.step) }
        #expect(rig.log.appendCount == 6)
        #expect(rig.log.moveCount(0) == 1)
    }

    @Test func `a slow log gets each entry once, after the first ones`() throws {
        let rig = ClockedReplica()
        let counts = try (0..<6).map { number in
            let former = rig.log.appendCount
            rig.log.setSlow()
            try rig.propose(number, ReplicaTests.put("\(number)"))
            for _ in 0..<5 { rig.passHearing(Self.step) }
            rig.log.settle()
            _ = try rig.decision(number).get()
            return rig.log.appendCount - former
        }
        // 1.25 s, of which it waits 0.6 s, then 1.2 s, then 2.4 s
        #expect(counts == [2, 2, 1, 1, 1, 1])
        #expect(rig.log.moveCount(0) == 0)
        #expect(rig.state.revision == 6)
    }

    @Test func `the time of a repetition follows what entries took, within its bounds`() {
        var repetition = RepetitionTime(atLeast: 600)
        func after(_ times: [UInt64]) -> [UInt64] {
            times.map { time in
                repetition.came(after: time)
                return repetition.nanoseconds
            }
        }
        // average + 4 * deviation: 200 + 400, 200 + 300, 350 + 4 * 356
        #expect(after([200, 200, 1400]) == [600, 600, 1774])
        repetition.cameAgain()
        #expect(repetition.nanoseconds == 2 * 1774)
        // Whole numbers: the average stays 7 below.
        #expect(after(Array(repeating: 1000, count: 60)).last == 993 + 100)
        #expect(after(Array(repeating: 10, count: 60)).last == 600)
        for _ in 0..<60 { repetition.cameAgain() }
        #expect(repetition.nanoseconds == RepetitionTime.nanosecondsMax)
        #expect(after([10]) == [600])
    }
}
