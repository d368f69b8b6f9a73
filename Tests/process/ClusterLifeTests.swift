import Foundation
import LatchkeyTestSupport
import Testing

/// Replicas with an empty folder, in a cluster that goes on and in one that was restored.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ClusterLifeTests {
    @Test func `an empty replica that joins a living cluster begins no life`() async throws {
        try await offPool {
            // Nothing of the state is offered.
            let replicas = try ReplicaSet(strategies: ["lock"])
            let site = replicas.sites[0]
            let first = try #require(try site.ask("PUT", "/v1/properties/a", "1").revision)
            try replicas.add()
            let next = try site.ask("PUT", "/v1/properties/a", "2").revision
            #expect(next == first + 1)
            #expect(try site.ask("PUT", "/v1/properties/a", "3").revision == first + 2)
            for site in replicas.sites {
                let changes = try site.ask("GET", "/v1/changes?after=\(first)")
                #expect(changes.status == 200, "\(changes)")
            }
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    @Test func `a replica that offers its state gives it as soon as it has some`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock"])
            try replicas.restart(0, replicas.offer(0))
            let site = replicas.sites[0]
            let first = try #require(try site.ask("PUT", "/v1/properties/a", "1").revision)
            try replicas.add()
            #expect(try site.ask("PUT", "/v1/properties/a", "2").revision == first + 1)
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }

    @Test func `no revision is given twice if etcd was restored and all folders are empty`()
        async throws
    {
        try await offPool {
            let replicas = try ReplicaSet(strategies: ["lock", "snapshot"])
            #expect(try replicas.sites[0].ask("PUT", "/v1/properties/a", "1").status == 201)
            #expect(replicas.endAll())
            replicas.etcd.stopAll()
            try replicas.etcd.copyData()
            try replicas.etcd.startAll()
            for index in 0..<2 { try replicas.start(index) }
            let lost = try replicas.sites.map { site in
                try #require(try site.ask("PUT", "/v1/properties/a", "2").revision)
            }
            #expect(replicas.endAll())
            replicas.etcd.stopAll()
            try replicas.etcd.copyData(back: true)
            try replicas.etcd.startAll()

            // At once: neither takes the other one for one that has begun.
            let ports = try (0..<2).map { _ in try replicas.addUnready() }
            let sites = ports.map { Site(port: $0) }
            for site in sites { try ReplicaSet.awaitReady(site) }
            let later = try sites.map { site in
                try #require(try site.ask("PUT", "/v1/properties/a", "3").revision)
            }
            #expect(Set(lost + later).count == 4)
            let last = try #require(lost.max())
            #expect(later.allSatisfy { $0 > last + 1 << 32 }, "\(lost) \(later)")
            try eventually("both have the same state") {
                try ReplicaSet.state(sites[0]) == ReplicaSet.state(sites[1])
            }
            for program in replicas.programs[2...] { #expect(program.end() == 0) }
        }
    }
}
