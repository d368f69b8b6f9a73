import LatchkeyGuards
import LatchkeyPersistence
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas
@testable import LatchkeyReplication
@testable import LatchkeyService

/// The state that a replica executes its log on, with its files.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct LogExecutionTests {
    private static let start: Revision = 1000
    private static let later: Revision = 1 << 40

    /// A store with files, as a replica has it.
    private struct Rig {
        let data: DurableData
        let journal: Journal
        let execution: LogExecution

        init(_ path: String, _ kind: StrategyKind) throws {
            var settings = PersistenceSettings()
            settings.path = path
            let log = Log(format: .text, level: .error)
            data = try DurableData(settings, startingAt: start, log: log)
            let persistence = data.persistence
            journal = Journal(HistoryLimits(), after: persistence.historyRevision)
            let store = PropertyStore(
                limits: StoreLimits(),
                stripeCount: 4,
                guards: GuardSettings(kind, backlogMax: 1000),
                after: persistence.storedRevision,
                parts: StoreParts(hook: data.hook, journal: journal)
            )
            try data.recover(store, journal: journal, readiness: Readiness(isRecovering: true))
            try data.start(
                journal: journal,
                keysLiveFor: .seconds(600),
                isGrouped: true,
                failed: { Issue.record("the disk has failed") }
            )
            let state = ClusterState(name: "test", etcd: { EtcdReport() })
            execution = LogExecution(store, journal, persistence, state, nil)
        }

        /// Executes an entry with one change.
        func execute(at place: UInt64) throws -> Revision {
            let proposal = LogEntry.Proposal(
                author: [],
                identity: nil,
                change: .increment(.named("a"), by: 1)
            )
            let commit = try execution.execute(proposal, at: Timestamp(milliseconds: 1)).get()
            reaches(place)
            return commit.revision
        }

        func reaches(_ place: UInt64) {
            execution.reaches(
                LogPosition(place: LogPlace(place), revision: execution.revision, rules: .second)
            )
        }
    }

    private static func checks(_ kind: StrategyKind) throws {
        let folder = try TemporaryFolder()
        // After the jump there are entries, or none.
        for (life, count) in [(1, 0), (2, 2)] as [(UInt64, UInt64)] {
            let later = life * later
            let rig = try Rig(folder.path, kind)
            let position = try rig.data.persistence.readPosition()
                .flatMap { LogPosition(decoding: $0) }
            #expect(position?.revision ?? start == rig.data.persistence.lastRevision)
            #expect(rig.execution.revision == rig.data.persistence.lastRevision)
            _ = try rig.execute(at: 10 * life)
            rig.execution.jump(to: later)
            #expect(rig.execution.revision == later && rig.journal.last == later)
            rig.reaches(10 * life + 1)
            for number in 0..<count {
                #expect(try rig.execute(at: 10 * life + 2 + number) == later + 1 + number)
            }
            #expect(rig.data.persistence.finish() == .written)
        }
        let last = try Rig(folder.path, kind)
        #expect(last.execution.revision == 2 * later + 2)
        #expect(last.data.persistence.lastRevision == 2 * later + 2)
        #expect(last.data.persistence.finish() == .written)
    }

    @Test func `after the begin of a life, a restart finds the revision of its position`() throws {
        for kind in [StrategyKind.lock, .snapshot, .serialQueueAsync] { try Self.checks(kind) }
    }
}
