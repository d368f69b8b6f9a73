import Foundation
import LatchkeyStrategies
import LatchkeySyncTesting
import LatchkeyTestSupport
import Testing

/// `Latchkey-Age`: how old an answer is at most.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct ClusterAgeTests {
    /// When each value was acknowledged: the first one is 0.
    private typealias Times = Guarded<[ContinuousClock.Instant]>

    /// What readers have found.
    private struct Findings: Sendable {
        var violations: [String] = []
        var answerCount = 0
        /// Answers that lacked a value which was acknowledged before they were asked for.
        var staleCount = 0
    }

    /// One read: what was acknowledged before its age must be in it.
    private static func read(
        _ client: HTTPClient,
        _ times: Times,
        _ findings: Guarded<Findings>
    ) throws {
        let start = ContinuousClock.now
        let answer = try client.request("GET", "/v1/properties/a")
        guard answer.status == 200, let value = Int(answer.text),
            let age = answer.headers["latchkey-age"].flatMap(Double.init)
        else { return }
        // The next value was acknowledged at this time, if it is known yet.
        let next = times.read { $0.count > value + 1 ? $0[value + 1] : nil }
        let isStale = next.map { $0 < start } ?? false
        let isWrong = next.map { $0 < start - .seconds(age) } ?? false
        findings.write { findings in
            findings.answerCount += 1
            if isStale { findings.staleCount += 1 }
            if isWrong, let next {
                findings.violations.append(
                    "\(value) with age \(age), \(next.duration(to: start)) behind the next one"
                )
            }
        }
    }

    @Test func `an answer has all that was acknowledged before its age`() async throws {
        try await offPool {
            let replicas = try ReplicaSet(members: 3)
            let (sites, etcd) = (replicas.sites, replicas.etcd)
            #expect(try sites[0].ask("PUT", "/v1/properties/a", "0").status == 201)
            try replicas.awaitSame()
            let times = Times([.now])
            let findings = sites.map { _ in Guarded(Findings()) }
            let isOver = Guarded(false)
            let writer = TestThread {
                let client = try? sites[0].client()
                while !isOver.read({ $0 }) {
                    let value = times.read { $0.count }
                    let answer = try? client?.request(
                        "PUT",
                        "/v1/properties/a",
                        headers: ["Content-Type: application/json"],
                        body: Array("\(value)".utf8)
                    )
                    if answer?.status == 204 { times.write { $0.append(.now) } }
                }
            }
            let readers = zip(sites, findings).map { (site, findings) in
                TestThread {
                    let client = try? site.client()
                    while let client, !isOver.read({ $0 }) {
                        try? Self.read(client, times, findings)
                    }
                }
            }
            for round in 0..<4 {
                replicas.programs[2].signal(SIGSTOP)
                // Sleeps because a replica that is stopped tells nothing.
                usleep(600_000)
                replicas.programs[2].signal(SIGCONT)
                let leader = try etcd.moveLeader()
                // The former leader, and then members that follow, with those who listen to them.
                etcd.signal((leader + round) % 3, SIGSTOP)
                // Sleeps because a member that is stopped tells nothing.
                usleep(700_000)
                etcd.signal((leader + round) % 3, SIGCONT)
                let count = times.read { $0.count }
                try eventually("the writer goes on") { times.read { $0.count } > count }
            }
            isOver.write { $0 = true }
            for thread in [writer] + readers { #expect(thread.join()) }
            for findings in findings.map({ $0.read { $0 } }) {
                #expect(findings.violations.prefix(3).isEmpty)
                #expect(findings.answerCount > 100)
            }
            #expect(findings.contains { $0.read { $0.staleCount > 0 } }, "nothing was tested")
            try replicas.awaitSame()
            #expect(replicas.endAll())
        }
    }
}
