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
    let replica: Replica

    init() {
        replica = Replica(
            Replica.Settings(incarnation: 1),
            log: log.member(0),
            store: StoreState(LockStrategy.self, stripeCount: 1),
            at: LogPosition(),
            Replica.Clocks(
                nanoseconds: { [clock] in clock.read { $0 } },
                calendar: { StoreClock.system.now() }
            ),
            Replica.Callbacks(isLevel: { _ in }, changed: { _ in }, advanced: { _ in })
        )
        replica.start()
        _ = eventually { [replica] in replica.phase == .serving }
    }

    /// Lets time pass, and does what is due then.
    func pass(_ nanoseconds: UInt64) {
        clock.write { $0 += nanoseconds }
        replica.tick()
        replica.queue.sync {}
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
}
