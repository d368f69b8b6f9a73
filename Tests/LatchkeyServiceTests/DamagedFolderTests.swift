import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyPersistence
import LatchkeyReplicas
import LatchkeyReplication
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// The messages of a service about a data folder that is damaged or gone.
@Suite(.timeLimit(.minutes(15)))
struct DamagedFolderTests {
    @Test(arguments: [false, true])
    func `only a service without other replicas is sent to recover`(isReplica: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.write("latchkey.db", String(repeating: "no database ", count: 100))
        var configuration = ServiceConfiguration()
        configuration.http.port = 0
        configuration.persistence.path = folder.path
        if isReplica {
            configuration.cluster.members = .listed([
                try #require(EtcdServer("http://127.0.0.1:2379"))
            ])
        }
        let faults = StartCheck(configuration, isRunning: false).faults
        let fault = try #require(faults.first(where: { $0.contains("is damaged") }), "\(faults)")
        #expect(fault.contains("latchkey recover") == !isReplica, "\(fault)")
        #expect(fault.contains("takes the state of another one") == isReplica, "\(fault)")
        do throws(StartFailure) {
            let log = Log(format: .text, level: .error)
            let frame = ServiceFrame(configuration.http, answerByteCountMax: 1 << 20, log)
            _ = try configuration.openData(frame, nil)
            Issue.record("it starts")
        } catch {
            #expect(error.reason == fault)
        }
    }

    @Test(arguments: [false, true])
    func `a change is refused for now, or for good where the folder is gone`(
        isLost: Bool
    ) throws {
        let store = PropertyStore.underLock(
            StoreParts(refusal: { isLost ? .gone : .failing })
        )
        let decided = Guarded<Decision?>(nil)
        try store.commit(.increment(.named("a"), by: 1), .here()) { decision in
            decided.write { $0 = decision }
        }
        guard case .failure(let refusal)? = decided.read({ $0 }) else {
            Issue.record("the change is taken")
            return
        }
        #expect(refusal.failure.problem == .journalFailed)
        let detail = refusal.failure.detail
        #expect((detail?.contains("refused until the server ends") == true) == isLost)
    }
}
