import Dispatch
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// An entry that does not come, under a clock that a test drives.
@Suite(.timeLimit(.minutes(1)))
struct EntryRepetitionTests {
    @Test func `an entry that does not come is sent again, first often and then more rarely`()
        async throws
    {
        try await offPool {
            let (log, clock) = (MemoryLog(seed: 1), Guarded<UInt64>(1))
            let settings = Replica.Settings(incarnation: 1)
            let replica = Replica(
                settings,
                log: log.member(0),
                store: StoreState(LockStrategy.self, stripeCount: 1),
                at: LogPosition(),
                Replica.Clocks(
                    nanoseconds: { clock.read { $0 } },
                    calendar: { StoreClock.system.now() }
                ),
                Replica.Callbacks(isLevel: { _ in }, changed: { _ in }, advanced: { _ in })
            )
            replica.start()
            // The suite's time bounds it.
            while replica.phase != .serving {}
            log.cut(0, true)
            try replica.propose(ReplicaTests.put("1"), author: []) { _ in }
            replica.queue.sync {}
            #expect(log.appendCount == 1)
            let counts = (0..<20).map { _ in
                clock.write { $0 += settings.repetitionNanoseconds + 1 }
                replica.tick()
                replica.queue.sync {}
                return log.appendCount
            }
            #expect(
                counts == [2, 3, 4, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 11, 11, 12, 12]
            )
        }
    }
}
