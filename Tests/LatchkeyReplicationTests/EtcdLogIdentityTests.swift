import Foundation
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Whether a key of etcd has the log that a replica has executed.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EtcdLogIdentityTests {
    private typealias Followed = EtcdLogTests.Followed

    /// A log that the test can change as an operator can.
    private final class Subject {
        let etcd: EtcdProcesses
        let client: EtcdClient
        /// A log that is not kept here is not followed any more.
        private var logs: [EtcdLog] = []

        init() throws {
            etcd = try EtcdProcesses()
            client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        }

        /// Appends, and says at which place.
        func append(_ entry: [UInt8], key: String = "log") throws -> UInt64 {
            let log = EtcdLog(client, key: Array(key.utf8))
            #expect(awaited { log.append(entry, completion: $0) } == .appended)
            return try #require(awaited { log.end(completion: $0) } ?? nil).number
        }

        func delete() throws {
            let key = Data("log".utf8).base64EncodedString()
            try etcd.ask(0, "/v3/kv/deleterange", "{\"key\":\"\(key)\"}")
        }

        func compact(_ revision: UInt64) throws {
            try etcd.ask(0, "/v3/kv/compaction", "{\"revision\":\"\(revision)\"}")
        }

        func follow(_ place: UInt64, _ identity: LogIdentity? = nil) -> Followed {
            let log = EtcdLog(client, key: Array("log".utf8), log: identity)
            let followed = Followed()
            log.follow(after: LogPlace(place)) { followed.add($0) }
            logs.append(log)
            return followed
        }
    }

    private static func isOther(_ words: String) -> (LogEvent) -> Bool {
        { event in
            if case .otherLog(let reason) = event { reason.contains(words) } else { false }
        }
    }

    private static func identities(_ followed: Followed) -> [LogIdentity] {
        followed.all.compactMap { if case .identified(let identity) = $0 { identity } else { nil } }
    }

    private static func lasts(_ followed: Followed) -> [UInt64] {
        followed.all.compactMap { if case .last(let place, _) = $0 { place.number } else { nil } }
    }

    @Test func `a log is told before its entries, and its first revision with one`() throws {
        let subject = try Subject()
        let followed = subject.follow(0)
        #expect(followed.awaitOne { if case .connected = $0 { true } else { false } })
        let before = Self.identities(followed)
        let etcd = try #require(before.first?.etcd)
        #expect(before == [LogIdentity(etcd: etcd)] && etcd != 0)
        let place = try subject.append([1])
        _ = try subject.append([2])
        #expect(followed.wait { $0.entries == [[1], [2]] })
        let identity = LogIdentity(etcd: etcd, created: place)
        #expect(Self.identities(followed) == before + [identity])
        guard case .identified = followed.all.dropLast(2).last else {
            Issue.record("\(followed.all)")
            return
        }
        let later = Followed()
        let again = EtcdLog(
            EtcdClient(subject.etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust()),
            key: Array("log".utf8),
            log: identity
        )
        again.follow(after: LogPlace(place)) { later.add($0) }
        #expect(later.wait { $0.entries == [[2]] })
        #expect(Self.identities(later) == [identity] && Self.lasts(later) == [place])
    }

    @Test func `a log whose key is deleted has ended`() throws {
        let subject = try Subject()
        let first = try subject.append([1])
        let followed = subject.follow(0)
        #expect(followed.wait { $0.entries == [[1]] })
        let identity = try #require(Self.identities(followed).last)
        #expect(identity.created == first)
        try subject.delete()
        #expect(followed.awaitOne(Self.isOther("The key log of etcd was deleted")))
        // At a start, the key is gone, or was made again; also for one that has nothing.
        #expect(subject.follow(0, identity).awaitOne(Self.isOther("is not there any more")))
        #expect(subject.follow(first, identity).awaitOne(Self.isOther("not there any more")))
        let second = try subject.append([2])
        for place in [0, first] {
            let other = subject.follow(place, identity)
            #expect(other.awaitOne(Self.isOther("was made at revision \(second)")))
            #expect(other.entries.isEmpty)
        }
        // A position of 0.1 does not know when the key was made, but is before that.
        let old = subject.follow(first)
        #expect(old.awaitOne(Self.isOther("was made at revision \(second)")))
        #expect(followed.entries == [[1]])
    }

    @Test func `a compaction after the place misses nothing, if no entry is between`() throws {
        let subject = try Subject()
        let place = try subject.append([1])
        let others = try (0..<3).map { try subject.append([$0], key: "other") }
        let later = try subject.append([2])
        // Exactly after the place, and further on, until an entry is missing.
        for bound in others {
            try subject.compact(bound)
            let followed = subject.follow(place)
            #expect(followed.wait { $0.entries == [[2]] })
            #expect(Self.lasts(followed) == [place])
        }
        // An entry that was executed at this place is of another log: the replica compares it.
        let other = subject.follow(others[1])
        #expect(other.wait { Self.lasts($0) == [place] })
        try subject.compact(later)
        let (late, level) = (subject.follow(place), subject.follow(later))
        #expect(late.awaitOne { if case .compacted = $0 { true } else { false } })
        #expect(late.entries.isEmpty && Self.lasts(late).isEmpty)
        #expect(level.wait { Self.lasts($0) == [later] })
    }
}
