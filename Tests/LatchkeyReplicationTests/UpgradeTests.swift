import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Replicas of different versions, and one that has stopped.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct UpgradeTests {
    @Test func `an upgrade goes replica by replica, and an old one stops at a later format`()
        throws
    {
        let states = ReplicaTests.states()
        let log = MemoryLog(seed: 1)
        let versions = Guarded<[UInt8]>([1, 2, 2])
        let cluster = ReplicaCluster(log, states) { settings in
            settings.formatMax = versions.write { $0.removeFirst() }
        }
        let (old, new) = (cluster.replicas[0], cluster.replicas[1])
        cluster.settle()
        for replica in 0..<3 { _ = cluster.change(replica, ReplicaTests.put("1")) }
        #expect(log.entries.allSatisfy { $0[0] == 1 })
        // Not all read the later one.
        new.writes(format: 1)
        _ = cluster.change(1, ReplicaTests.put("2"))
        #expect(log.entries.allSatisfy { $0[0] == 1 })
        // The old one was forgotten, and is still there.
        new.writes(format: 2)
        old.writes(format: 2)
        _ = cluster.change(0, ReplicaTests.put("3"))
        #expect(log.entries.allSatisfy { $0[0] == 1 })
        for number in 4..<8 {
            let decision = cluster.change(1 + number % 2, ReplicaTests.put("\(number)"))
            #expect(throws: Never.self) { try decision.get() }
        }
        #expect(log.entries.contains { $0[0] == 2 })
        #expect(eventually { !old.isRunning })
        guard case .diverged(let reason) = old.phase else {
            Issue.record("\(old.phase)")
            return
        }
        #expect(reason.contains("has format 2") && reason.contains("update this replica"))
        #expect(new.phase == .serving && cluster.replicas[2].phase == .serving)
        cluster.settle(but: [0])
        let refused = cluster.change(0, ReplicaTests.put("9"))
        #expect(throws: Refusal.withdrawn(.unavailable)) { try refused.get() }
        let digests = try ReplicaTests.digests(states)
        #expect(digests[1] == digests[2] && digests[0] != digests[1])
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
        // It is told behind several times of a repetition.
        #expect(writer.join())
        #expect(throws: Refusal.withdrawn(.unknown)) { try decision.read { $0 }?.get() }
        #expect(log.entries.count <= count + 1)
    }
}
