import Dispatch
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// An entry waits for nine tenths of the changes that lately were in flight, under a clock that a
/// test drives: it stands still but for what a test lets pass.
@Suite("Entries wait for more changes", .timeLimit(.minutes(15)), .offPool)
struct EntryGatheringTests {
    private let rig = ClockedReplica()
    private var gatherNanoseconds: UInt64 { rig.replica.settings.gatherNanoseconds }
    private let next = Guarded(0)

    /// Proposes changes, and returns their numbers.
    private func propose(_ count: Int) throws -> [Int] {
        try (0..<count).map { _ in
            let number = next.write { next in
                next += 1
                return next
            }
            try rig.propose(number, ReplicaTests.put("1"))
            return number
        }
    }

    /// Lets the sent entry come after a time, and the replica handle it.
    private func come(after nanoseconds: UInt64? = nil) {
        rig.clock.write { $0 += nanoseconds ?? gatherNanoseconds }
        rig.log.settle()
        rig.log.awaitDelivered(to: 0)
        rig.replica.queue.sync {}
    }

    /// Makes changes: the first of them in an entry of its own, and the others in the next one.
    private func make(_ count: Int, after nanoseconds: UInt64? = nil) throws {
        rig.log.setSlow()
        let numbers = try propose(count)
        come()
        come(after: nanoseconds)
        for number in numbers { _ = try rig.decision(number).get() }
    }

    private func changeCounts() throws -> [Int] {
        try rig.log.entries.map { bytes in
            try LogEntry(decoding: bytes, behind: rig.replica.position.rules).proposals.count
        }
    }

    @Test func `an entry waits until nine tenths of those of late are there`() throws {
        try make(20)
        #expect(try changeCounts() == [1, 19])
        _ = try propose(16)
        #expect(rig.log.appendCount == 2)
        _ = try propose(1)
        come()
        #expect(try changeCounts() == [1, 19, 17])
    }

    @Test func `it does not wait beyond the interval`() throws {
        try make(20)
        _ = try propose(5)
        rig.pass(gatherNanoseconds - 1)
        #expect(rig.log.appendCount == 2)
        rig.pass(1)
        come()
        #expect(try changeCounts() == [1, 19, 5])
        // After a pause an entry waits for nothing.
        rig.pass(gatherNanoseconds)
        _ = try propose(1)
        come()
        #expect(try changeCounts() == [1, 19, 5, 1])
    }

    @Test func `it waits no longer than the last entry has taken`() throws {
        try make(20, after: 1000)
        _ = try propose(5)
        rig.pass(999)
        #expect(rig.log.appendCount == 2)
        rig.pass(1)
        #expect(rig.log.appendCount == 3)
    }

    @Test func `a client that is left alone waits for a few entries, and then for none`() throws {
        try make(64)
        let waits = try (0..<20).map { _ in
            let former = rig.log.appendCount
            let number = try propose(1)[0]
            let waits = rig.log.appendCount == former
            if waits { rig.pass(gatherNanoseconds) }
            come()
            _ = try rig.decision(number).get()
            return waits
        }
        #expect(waits == (0..<20).map { $0 < 4 })
    }

    @Test func `a few clients are never waited for`() throws {
        for count in [1, 2, 4, 1, 3, 4, 1] {
            try make(count)
            let former = rig.log.appendCount
            _ = try propose(1)
            #expect(rig.log.appendCount == former + 1)
            come()
        }
    }

    @Test func `a full entry does not wait`() throws {
        var state = Replica.State(
            position: LogPosition(),
            entryByteCountMax: 100,
            repetitionTime: RepetitionTime(atLeast: 1),
            lastMark: 0
        )
        state.gathering.finishes(inFlight: 1 << 20)
        state.gathersUntil = 10
        #expect(state.isGathering(at: 9))
        #expect(!state.isGathering(at: 10))
        state.waitingByteCount = 100
        #expect(!state.isGathering(at: 9))
        state.waitingByteCount = 0
        let waiting = Replica.Waiting(encoded: [], since: 0) { _ in }
        state.waiting = Array(repeating: waiting, count: LogEntryWriter.changeCountMax - 1)
        #expect(state.isGathering(at: 9))
        state.waiting.append(waiting)
        #expect(!state.isGathering(at: 9))
    }
}
