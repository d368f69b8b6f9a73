import LatchkeyPersistence
import LatchkeyReplication
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService

/// What a start says about a damaged data folder.
@Suite(.timeLimit(.minutes(15)))
struct DamagedFolderTests {
    @Test(arguments: [false, true])
    func `only who has no other replica is sent to recover`(isReplica: Bool) throws {
        let folder = try TemporaryFolder()
        try folder.write("latchkey.db", String(repeating: "no database ", count: 100))
        var configuration = ServiceConfiguration()
        configuration.http.port = 0
        configuration.persistence.path = folder.path
        if isReplica {
            configuration.cluster.servers = [try #require(EtcdServer("http://127.0.0.1:2379"))]
        }
        let faults = StartCheck(configuration, isRunning: false).faults
        let fault = try #require(faults.first(where: { $0.contains("is damaged") }), "\(faults)")
        #expect(fault.contains("latchkey recover") == !isReplica, "\(fault)")
        #expect(fault.contains("takes the state of another one") == isReplica, "\(fault)")
        do throws(StartFailure) {
            _ = try configuration.openData(Log(format: .text, level: .error), nil)
            Issue.record("it starts")
        } catch {
            #expect(error.reason == fault)
        }
    }
}
