import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Which members of etcd a client uses, and which ones it leaves.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EtcdMemberTests {
    /// A clock that is moved by hand.
    private final class Clock: Sendable {
        private let time = Guarded(ContinuousClock.Instant.now)

        var now: ContinuousClock.Instant { time.read { $0 } }

        func advance(by duration: Duration) { time.write { $0 += duration } }
    }

    private static func servers(_ addresses: [String]) -> [EtcdServer] {
        addresses.compactMap { EtcdServer($0) }
    }

    private static func client(_ addresses: [String]) -> EtcdClient {
        EtcdClient(servers(addresses), EtcdTrust())
    }

    private static func append(_ log: EtcdLog, _ entry: [UInt8]) -> LogAppend {
        awaited { log.append(entry, completion: $0) } ?? .unknown("")
    }

    private static func end(_ log: EtcdLog) -> LogPlace? {
        awaited { log.end(completion: $0) } ?? nil
    }

    private static func survey(_ client: EtcdClient) -> [UInt64?] {
        let answers = awaited { client.survey(key: Array("log".utf8), completion: $0) }
        return answers?.map { try? $0.get() } ?? []
    }

    private static func reason(_ append: LogAppend) -> String {
        if case .unknown(let reason) = append { reason } else { "" }
    }

    @Test func `a learner at an old address is left for another member`() throws {
        let etcd = try EtcdProcesses(members: 3)
        try etcd.replace(0, asLearner: true)
        let first = EtcdLog(Self.client([etcd.addresses[0]]), key: [1])
        try eventually("the learner answers") {
            Self.reason(Self.append(first, [0])).contains("learner")
        }
        let client = Self.client(etcd.addresses)
        let (log, followed) = (EtcdLog(client, key: [1]), EtcdLogTests.Followed())
        #expect(Self.reason(Self.append(log, [1])).contains("learner"))
        #expect(client.trouble?.hasPrefix(etcd.addresses[0]) == true)
        #expect(client.report.failureCounts == [.unavailable: 1])
        #expect(Self.append(log, [2]) == .appended && client.trouble == nil)
        // A follower leaves it by itself.
        let other = EtcdLog(Self.client(etcd.addresses), key: [1])
        other.follow(after: .start) { followed.add($0) }
        #expect(followed.wait { $0.entries == [[2]] })
    }

    @Test func `a member of another cluster is passed over, and nothing is put there`() throws {
        let (etcd, lone) = (try EtcdProcesses(), try EtcdProcesses())
        let addresses = lone.addresses + etcd.addresses
        let client = Self.client(addresses)
        let closed = "http://127.0.0.1:\(try EtcdProcesses.freePort())"
        let found = Self.survey(Self.client(addresses + [closed]))
        #expect(found.count == 3 && found[2] == nil)
        let (stranger, known) = (try #require(found[0]), try #require(found[1]))
        #expect(stranger != known)
        client.expect(cluster: known)
        #expect(client.membership == .known)
        let (log, followed) = (EtcdLog(client, key: [1]), EtcdLogTests.Followed())
        let sentence =
            "\(lone.addresses[0]) is of the etcd cluster \(String(stranger, radix: 16)), and the "
            + "log is in \(String(known, radix: 16))."
        #expect(Self.append(log, [1]) == .unknown(sentence))
        #expect(client.membership == .strangers(sentence) && client.trouble == sentence)
        #expect(client.report.failureCounts == [.stranger: 1] && client.report.troubles.isEmpty)
        #expect(Self.append(log, [2]) == .appended)
        #expect(client.membership == .known && client.trouble == nil)
        // It is not asked again, and has no entry that was put.
        #expect(Self.end(EtcdLog(Self.client(lone.addresses), key: [1])) == .start)
        // A follower skips it, too.
        let identity = LogIdentity(etcd: known)
        let other = EtcdLog(Self.client(addresses), key: [1], log: identity)
        other.follow(after: .start) { followed.add($0) }
        #expect(followed.wait { $0.entries == [[2]] })
        // A member that is down may be of the known cluster.
        let down = Self.client(lone.addresses + [closed])
        down.expect(cluster: known)
        let waiting = EtcdLog(down, key: [1])
        for _ in 0..<4 { #expect(Self.end(waiting) == nil) }
        #expect(down.membership == .strangers(sentence))
    }

    @Test func `a log whose addresses all have another cluster is another log`() throws {
        let (etcd, lone) = (try EtcdProcesses.shared.get(), try EtcdProcesses())
        let known = try #require(Self.survey(Self.client(etcd.addresses)).first ?? nil)
        let client = Self.client(lone.addresses)
        let log = EtcdLog(client, key: Array("all".utf8), log: LogIdentity(etcd: known))
        let followed = EtcdLogTests.Followed()
        log.follow(after: .start) { followed.add($0) }
        let isOther = { (event: LogEvent) in
            if case .otherLog(let reason) = event {
                reason.contains(known.hexadecimal) && reason.contains("restored or replaced")
            } else {
                false
            }
        }
        #expect(followed.awaitOne(isOther))
        guard case .onlyStrangers = client.membership else {
            Issue.record("it is \(client.membership)")
            return
        }
        // Other addresses are taken while it runs; the same ones change nothing.
        client.use(Self.servers(etcd.addresses), EtcdTrust())
        #expect(Self.append(log, [1]) == .appended && client.membership == .known)
        client.use(Self.servers(etcd.addresses), EtcdTrust())
        #expect(Self.append(log, [2]) == .appended && client.report.failureCounts[.stranger] != nil)
    }

    @Test(arguments: [
        ScriptedEtcd.Answer(httpStatus: 502), ScriptedEtcd.Answer(status: 13, reason: "a proxy"),
        ScriptedEtcd.Answer(status: 8, reason: "etcdserver: too many requests"),
    ])
    func `a proxy that refuses is left`(answer: ScriptedEtcd.Answer) throws {
        let (etcd, proxy) = (try EtcdProcesses.shared.get(), try ScriptedEtcd(answer))
        let client = Self.client([proxy.address] + etcd.addresses)
        let log = EtcdLog(client, key: Array("proxy \(answer)".utf8))
        #expect(Self.reason(Self.append(log, [1])) != "")
        #expect(client.report.failureCounts == [.other: 1])
        #expect(Self.append(log, [1]) == .appended && proxy.connectionCount == 1)
    }

    @Test func `a member that reports an error in a call is kept, and the reason is told`() throws {
        let etcd = try EtcdProcesses.shared.get()
        let answer = ScriptedEtcd.Answer(status: 7, reason: "etcdserver: permission denied")
        let refusing = try ScriptedEtcd(answer)
        let client = Self.client([refusing.address] + etcd.addresses)
        let log = EtcdLog(client, key: Array("denied".utf8))
        for _ in 0..<3 { #expect(Self.append(log, [1]) == .unknown(answer.reason)) }
        #expect(refusing.connectionCount == 1)
        #expect(client.report.troubles == [.log: answer.reason])
        #expect(client.report.failureCounts == [.denied: 3] && client.trouble == nil)
    }

    @Test func `once all have failed, no connection is made for a while`() throws {
        let answer = ScriptedEtcd.Answer(status: 14, reason: "etcdserver: no leader")
        let members = try (0..<2).map { _ in try ScriptedEtcd(answer) }
        let clock = Clock()
        let servers = Self.servers(members.map(\.address))
        let client = EtcdClient(servers, EtcdTrust()) { clock.now }
        let log = EtcdLog(client, key: [1])
        let count = { members.map(\.connectionCount).reduce(0, +) }
        for _ in 0..<20 { #expect(Self.end(log) == nil) }
        #expect(count() == 2)
        #expect(Self.append(log, [1]) == .unknown("no connection"))
        for total in 3...5 {
            clock.advance(by: .milliseconds(500))
            for _ in 0..<20 { #expect(Self.end(log) == nil) }
            #expect(count() == total)
        }
    }

    @Test func `the longest request that etcd takes is found out`() throws {
        func bound(_ etcd: EtcdProcesses) -> Int?? {
            let client = Self.client(etcd.addresses)
            return awaited { client.requestByteCountMax(completion: $0) }
        }
        #expect(bound(try EtcdProcesses.shared.get()) == 1_572_864)
        #expect(bound(try EtcdProcesses(flags: ["--max-request-bytes", "65536"])) == 65_536)
        let large = try EtcdProcesses(flags: ["--max-request-bytes", "4194304"])
        #expect(bound(large) == .max)
    }
}
