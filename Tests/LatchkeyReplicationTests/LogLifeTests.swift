import Dispatch
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Entries that begin another life of the log (issue 49).
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LogLifeTests {
    private static let later: Revision = 1 << 50

    private static func begin(_ replica: Replica, behind revision: Revision) -> Bool? {
        awaited { replica.beginLife(behind: revision, completion: $0) }
    }

    @Test(arguments: [0, 30])
    func `all replicas go on after the revision of a new life`(faultPercent: Int) throws {
        let states = ReplicaTests.states()
        let log = MemoryLog(seed: 49, faultPercent: faultPercent)
        let cluster = ReplicaCluster(log, states, at: LogPosition(rules: .second))
        cluster.settle()
        _ = cluster.change(0, ReplicaTests.put("1"))
        #expect(Self.begin(cluster.replicas[1], behind: Self.later) == true)
        let made = try cluster.change(2, ReplicaTests.put("2")).get()
        #expect(made.revision == Self.later + 1)
        // A life that is not later changes nothing.
        #expect(Self.begin(cluster.replicas[0], behind: 7) == true)
        cluster.settle()
        #expect(states.map(\.revision) == Array(repeating: Self.later + 1, count: 3))
        #expect(cluster.replicas.allSatisfy { $0.position.revision == Self.later + 1 })
        #expect(try Set(ReplicaTests.digests(states)).count == 1)
        // A replica that executes the log from its start has the same.
        let state = StoreState()
        let last = ReplicaCluster(log, [state], at: LogPosition(rules: .second)) {
            $0.incarnation = 9
        }
        last.settle()
        #expect(state.revision == Self.later + 1)
    }

    @Test func `the owner is told when more is known of the log`() {
        let rig = ClockedReplica()
        for identity in [LogIdentity(etcd: 3), LogIdentity(etcd: 3, created: 5)] {
            let count = rig.identifiedCount.read { $0 }
            rig.replica.receive(.identified(identity))
            #expect(rig.identifiedCount.read { $0 } == count + 1)
            #expect(rig.replica.position.log == identity)
        }
    }

    @Test func `a replica of the first rules begins no life`() {
        let rig = ClockedReplica()
        #expect(Self.begin(rig.replica, behind: Self.later) == false)
        rig.pass(1)
        #expect(rig.log.appendCount == 0)
        #expect(rig.state.revision == 0)
    }

    @Test func `a life that is not known to have begun is asked for again`() {
        let rig = ClockedReplica(at: LogPosition(rules: .second))
        let outcomes = Guarded<[Bool]>([])
        func begin() {
            rig.replica.beginLife(behind: Self.later) { isBegun in
                outcomes.write { $0.append(isBegun) }
            }
            rig.replica.queue.sync {}
        }
        rig.log.cut(0, true)
        begin()
        rig.pass(rig.replica.settings.unknownNanoseconds + 1)
        #expect(outcomes.read { $0 } == [false], "it was sent")
        // One is in flight: this one waits, and the log says nothing.
        begin()
        rig.pass(rig.replica.settings.refusalNanoseconds + 1)
        #expect(outcomes.read { $0 } == [false, false], "it was not sent")
        rig.log.cut(0, false)
        // The first one comes.
        while rig.state.revision != Self.later {
            rig.passHearing(rig.replica.settings.questionNanoseconds + 1)
        }
        begin()
        #expect(eventually { outcomes.read { $0 } == [false, false, true] })
    }
}
