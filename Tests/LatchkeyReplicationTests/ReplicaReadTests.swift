import Dispatch
import LatchkeyReplication
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

/// Reads that see all that was acknowledged anywhere before them.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ReplicaReadTests {
    /// A state whose changes wait until the test lets them be made.
    private struct HeldState: ReplicatedState {
        let base: StoreState
        let arrivals = DispatchSemaphore(value: 0)
        let permits = DispatchSemaphore(value: 0)

        func decide(by rules: RuleLevel) { base.decide(by: rules) }

        func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
            arrivals.signal()
            permits.wait()
            return base.execute(proposal, at: time)
        }

        func jump(to revision: Revision) { base.jump(to: revision) }
        func reaches(_ position: LogPosition) { base.reaches(position) }
        var revision: Revision { base.revision }
        func hash(completion: @escaping @Sendable (UInt64) -> Void) {
            base.hash(completion: completion)
        }
    }

    @Test func `a state is not up to date while it executes acknowledged changes`() {
        let held = HeldState(base: StoreState())
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, [StoreState(), held])
        cluster.settle()
        // acknowledged at replica 0   executed at replica 1
        #expect((try? cluster.change(0, ReplicaTests.put("1")).get()) != nil)
        held.arrivals.wait()
        let answer = Guarded<Bool?>(nil)
        let isAnswered = DispatchSemaphore(value: 0)
        cluster.replicas[1].whenLevel { isLevel in
            answer.write { $0 = isLevel }
            isAnswered.signal()
        }
        // One answer can be to a question before, and the next one is not.
        let ends = log.ends[1].value
        #expect(log.ends[1].wait(for: ends + 2))
        #expect(isAnswered.wait(timeout: .now()) == .timedOut)
        held.permits.signal()
        #expect(isAnswered.isSignalled())
        #expect(answer.read { $0 } == true)
        #expect(held.revision == 1)
    }

    @Test func `a state is not up to date with a log that has lost entries`() {
        let log = MemoryLog(seed: 1)
        let cluster = ReplicaCluster(log, [StoreState()])
        cluster.settle()
        #expect((try? cluster.change(0, ReplicaTests.put("1")).get()) != nil)
        cluster.settle()
        log.loseLast()
        #expect(eventually { cluster.replicas[0].phase.isFinal })
        guard case .otherLog = cluster.replicas[0].phase else {
            Issue.record("\(cluster.replicas[0].phase)")
            return
        }
        #expect(awaited { cluster.replicas[0].whenLevel($0) } == false)
    }
}
