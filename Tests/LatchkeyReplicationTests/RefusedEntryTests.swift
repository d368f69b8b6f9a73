import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Entries that the log refuses as too large (issue 49).
@Suite(.timeLimit(.minutes(15)), .offPool)
struct RefusedEntryTests {
    /// A change of some more bytes than this.
    private static func put(_ number: Int, _ byteCount: Int) -> Change {
        let value = Array("\"\(String(repeating: "x", count: byteCount))\"".utf8)
        return unsafe value.withUnsafeBytes { bytes in
            Change.owned(unsafe Change.put(ReplicaTests.name("\(number)"), value: bytes))
        }
    }

    /// Lets some changes wait for an entry, which comes when the log is not held any more.
    private static func rig(changes: Int, _ byteCount: Int) throws -> ClockedReplica {
        let rig = ClockedReplica()
        rig.log.hold(true)
        try rig.propose(0, ReplicaTests.put("0"))
        for number in 1...changes { try rig.propose(number, put(number, byteCount)) }
        #expect(rig.log.appendCount == 1)
        return rig
    }

    @Test func `a refused entry of several changes is sent in parts, and later ones are short`()
        throws
    {
        let rig = try Self.rig(changes: 8, 100)
        rig.log.setByteCountMax(450)
        rig.log.hold(false)
        for number in 0...8 { #expect(throws: Never.self) { try rig.decision(number).get() } }
        let bounds = rig.bounds.read { $0 }
        // 8 changes, 4 of them, then 1 at a time: two have more bytes than the half of four.
        #expect(bounds.count == 2 && bounds[1] <= bounds[0] / 2, "\(bounds)")
        #expect(rig.log.entries.allSatisfy { $0.count <= 450 })
        let revisions = try (0...8).map { try rig.decision($0).get().revision }
        #expect(revisions == revisions.sorted())
        // A change that is refused alone is too long, and the others go on.
        try rig.propose(9, Self.put(9, 450))
        #expect(throws: Refusal.changeTooLong) { try rig.decision(9).get() }
        try rig.propose(10, Self.put(10, 100))
        #expect(throws: Never.self) { try rig.decision(10).get() }
        #expect(rig.bounds.read { $0.count } == 2)
    }

    /// Lets an entry be sent again, and refused as too large the second time.
    private static func refuse(_ rig: ClockedReplica, _ byteCount: Int) {
        rig.log.setByteCountMax(byteCount)
        rig.pass(rig.replica.settings.repetitionNanoseconds + 1)
    }

    @Test func `an entry that was sent twice and is refused holds nothing up`() throws {
        let rig = ClockedReplica()
        rig.log.cut(0, true)
        try rig.propose(0, Self.put(0, 200))
        rig.log.cut(0, false)
        Self.refuse(rig, 100)
        #expect(throws: Refusal.changeTooLong) { try rig.decision(0).get() }
        try rig.propose(1, ReplicaTests.put("1"))
        #expect(throws: Never.self) { try rig.decision(1).get() }
        // Lost, refused, the empty one, and the next change.
        #expect(rig.log.appendCount == 4)
    }

    @Test func `a refused entry that comes before the later one has its effect`() throws {
        let rig = ClockedReplica()
        rig.log.setLate(true)
        try rig.propose(0, Self.put(0, 200))
        rig.log.setLate(false, first: true)
        Self.refuse(rig, 100)
        #expect(throws: Never.self) { try rig.decision(0).get() }
        #expect(rig.state.revision == 1)
        try rig.propose(1, ReplicaTests.put("1"))
        #expect(throws: Never.self) { try rig.decision(1).get() }
    }

    @Test func `a refused entry that comes after the later one has no effect`() throws {
        let rig = ClockedReplica()
        rig.log.setLate(true)
        try rig.propose(0, Self.put(0, 200))
        rig.log.setLate(false)
        Self.refuse(rig, 100)
        #expect(throws: Refusal.changeTooLong) { try rig.decision(0).get() }
        rig.log.settle()
        try rig.propose(1, ReplicaTests.put("1"))
        #expect(throws: Never.self) { try rig.decision(1).get() }
        #expect(rig.log.entries.count == 3)
        #expect(rig.state.revision == 1)
    }

    @Test func `the changes of a refused entry that was sent twice are made in parts`() throws {
        let rig = try Self.rig(changes: 4, 100)
        rig.log.setLate(true)
        rig.log.hold(false)
        #expect(throws: Never.self) { try rig.decision(0).get() }
        #expect(eventually { rig.log.appendCount == 2 })
        rig.log.setLate(false)
        Self.refuse(rig, 300)
        for number in 1...4 { #expect(throws: Never.self) { try rig.decision(number).get() } }
        rig.log.settle()
        rig.log.awaitDelivered(to: 0)
        #expect(rig.state.revision == 5)
    }

    @Test func `a client of an entry that was set aside is told that its outcome is unknown`()
        throws
    {
        let rig = ClockedReplica()
        rig.log.setLate(true)
        try rig.propose(0, Self.put(0, 200))
        rig.log.setLate(false)
        rig.log.hold(true)
        Self.refuse(rig, 100)
        #expect(eventually { rig.log.entries.count == 1 }, "the empty one")
        rig.pass(rig.replica.settings.unknownNanoseconds)
        #expect(throws: Refusal.unavailable(.unknown)) { try rig.decision(0).get() }
        rig.log.hold(false)
        try rig.propose(1, ReplicaTests.put("1"))
        #expect(throws: Never.self) { try rig.decision(1).get() }
    }
}
