import Foundation
import LatchkeyStrategies
import LatchkeySyncTesting
import LatchkeyTestSupport
import Testing

/// Members of etcd that are replaced while replicas write.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ClusterReplacementTests {
    @Test func `members of etcd are replaced under load, and no acknowledged write is lost`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(members: 3)
            let sites = replicas.sites
            // The values that were acknowledged last, of properties that one writer each has.
            let acknowledged = Guarded<[[Int]]>(Array(repeating: [], count: 6))
            let isOver = Guarded(false)
            let writers = (0..<6).map { writer in
                TestThread {
                    let site = sites[writer % 3]
                    var number = 0
                    while !isOver.read({ $0 }) {
                        number += 1
                        let path = "/v1/properties/w\(writer)-\(number)"
                        let status = try? site.ask("PUT", path, "\(number)").status
                        if status == 201 { acknowledged.write { $0[writer].append(number) } }
                    }
                }
            }
            let leader = try replicas.etcd.leader()
            for member in [leader, (leader + 1) % 3] {
                let before = acknowledged.read { $0 }.map(\.count)
                try replicas.etcd.replace(member)
                try eventually("all write on") {
                    zip(acknowledged.read { $0 }, before).allSatisfy { $0.count > $1 + 5 }
                }
            }
            isOver.write { $0 = true }
            for writer in writers { #expect(writer.join()) }
            let state = try replicas.awaitSame()
            for (writer, numbers) in acknowledged.read({ $0 }).enumerated() {
                for number in numbers {
                    #expect(state.contains("\"w\(writer)-\(number)\""), "\(writer) \(number)")
                }
            }
            for site in sites { #expect(try site.ask("GET", "/readyz").status == 200) }
            #expect(replicas.endAll())
        }
    }
}
