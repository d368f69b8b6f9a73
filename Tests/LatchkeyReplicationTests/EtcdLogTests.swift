import Dispatch
import Glibc
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// The log over real processes of etcd.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct EtcdLogTests {
    /// The events of one follower.
    final class Followed: Sendable {
        private let events = Guarded<[LogEvent]>([])

        func add(_ event: LogEvent) { events.write { $0.append(event) } }

        var entries: [[UInt8]] {
            events.read { $0 }.compactMap {
                if case .entry(_, let bytes) = $0 { bytes } else { nil }
            }
        }

        var places: [LogPlace] {
            events.read { $0 }.compactMap {
                if case .entry(let place, _) = $0 { place } else { nil }
            }
        }

        var all: [LogEvent] { events.read { $0 } }

        func wait(_ isTrue: (Followed) -> Bool) -> Bool {
            EtcdLogTests.wait { isTrue(self) }
        }

        /// Waits for one event.
        func awaitOne(_ isRight: (LogEvent) -> Bool) -> Bool {
            wait { $0.all.contains(where: isRight) }
        }
    }

    /// Waits until a condition holds.
    fileprivate static func wait(_ isTrue: () -> Bool) -> Bool {
        (try? eventually("an event of the log", isTrue)) != nil
    }

    private static func log(_ etcd: EtcdProcesses, key: String = "log", first: Int = 0) -> EtcdLog {
        let client = EtcdClient(
            etcd.addresses.compactMap { EtcdServer($0) },
            EtcdTrust(),
            first: first
        )
        return EtcdLog(client, key: Array(key.utf8))
    }

    private static func append(_ log: EtcdLog, _ entry: [UInt8]) -> LogAppend {
        awaited { log.append(entry, completion: $0) } ?? .unknown("")
    }

    private static func end(_ log: EtcdLog) -> LogPlace? {
        awaited { log.end(completion: $0) } ?? nil
    }

    @Test func `entries come in their order, to followers from any place`() throws {
        let etcd = try EtcdProcesses()
        let log = Self.log(etcd)
        let (followed, later) = (Followed(), Followed())
        log.follow(after: .start) { followed.add($0) }
        let other = Self.log(etcd, key: "logs")
        for number in UInt8(0)..<100 {
            #expect(Self.append(log, [number]) == .appended)
            #expect(Self.append(other, [number, 1]) == .appended)
        }
        #expect(followed.wait { $0.entries.count == 100 })
        #expect(followed.entries == (UInt8(0)..<100).map { [$0] })
        #expect(followed.places == followed.places.sorted())
        #expect(Self.end(log) == followed.places.last)
        log.follow(after: followed.places[49]) { later.add($0) }
        #expect(later.wait { $0.entries.count == 50 })
        #expect(later.entries == (UInt8(50)..<100).map { [$0] })
        // The former follower has received nothing more.
        #expect(followed.entries.count == 100)
    }

    @Test func `a log that has stopped receives and puts nothing`() throws {
        let etcd = try EtcdProcesses.shared.get()
        let (log, other) = (Self.log(etcd, key: "stop"), Self.log(etcd, key: "stop"))
        let (stopped, followed) = (Followed(), Followed())
        log.follow(after: .start) { stopped.add($0) }
        other.follow(after: .start) { followed.add($0) }
        #expect(Self.append(log, [1]) == .appended)
        #expect(stopped.wait { $0.entries.count == 1 })
        log.stop()
        let count = stopped.all.count
        #expect(Self.append(log, [2]) == .unknown("no connection"))
        #expect(Self.append(other, [3]) == .appended)
        #expect(followed.wait { $0.entries == [[1], [3]] })
        #expect(stopped.all.count == count)
    }

    @Test func `a server sends no more than a window ahead of what was consumed`() throws {
        let etcd = try EtcdProcesses()
        let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        let log = EtcdLog(client, key: [1])
        let entry = [UInt8](repeating: 7, count: 1_000_000)
        for _ in 0..<24 { #expect(Self.append(log, entry) == .appended) }
        let taken = Guarded(0)
        let stream = client.stream(
            "/etcdserverpb.Watch/Watch",
            EtcdRequest.watch([1], from: 1),
            take: { message in
                taken.write { $0 += RPCChannel.windowByteCount(message) }
            },
            end: { _ in }
        )
        let window = RPCChannel.windowByteCount
        // Less than a message, which can be of two entries, does not fit.
        #expect(Self.wait { taken.read { $0 } > window - 2 * entry.count - 10_000 })
        // The connection goes on, and the server has had time to send more.
        for _ in 0..<20 { #expect(Self.end(log) != nil) }
        #expect(taken.read { $0 } <= window)
        stream?.consume(taken.read { $0 })
        #expect(Self.wait { taken.read { $0 } > 24 * entry.count })
    }

    @Test func `an entry of the greatest length goes in, and a longer one is refused`() throws {
        let etcd = try EtcdProcesses()
        let log = Self.log(etcd)
        let followed = Followed()
        log.follow(after: .start) { followed.add($0) }
        let entry = [UInt8](repeating: 7, count: LogBounds().changeByteCountMax)
        #expect(Self.append(log, entry) == .appended)
        #expect(followed.wait { $0.entries.count == 1 })
        #expect(followed.entries == [entry])
        guard case .tooLarge = Self.append(log, entry + entry) else {
            Issue.record("it is not refused")
            return
        }
        #expect(Self.append(log, [1]) == .appended)
        #expect(followed.wait { $0.entries.count == 2 })
    }

    @Test func `a call without an answer in time has the next one made at another member`() throws {
        // It answers pings, as its machine is well, but has no majority.
        let alone = try EtcdProcesses(members: 3)
        for member in 1...2 { alone.signal(member, SIGSTOP) }
        defer { for member in 1...2 { alone.signal(member, SIGCONT) } }
        let others = try EtcdProcesses()
        let addresses = [alone.addresses[0]] + others.addresses
        let log = EtcdLog(
            EtcdClient(addresses.compactMap { EtcdServer($0) }, EtcdTrust()),
            key: Array("log".utf8)
        )
        #expect(Self.end(log) == nil)
        #expect(Self.end(log) == .start)
    }

    @Test func `a log goes on with another member, without a gap and without repeats`() async throws
    {
        let etcd = try EtcdProcesses(members: 3)
        let log = Self.log(etcd)
        let followed = Followed()
        log.follow(after: .start) { followed.add($0) }
        #expect(Self.append(log, [0]) == .appended)
        let writer = Self.log(etcd, first: 1)
        for member in 0..<3 {
            // In turn each member is killed, that of the follower among them.
            etcd.signal(member, SIGKILL)
            for number in UInt8(0)..<20 {
                let entry = [UInt8(member), number]
                #expect(Self.wait { Self.append(writer, entry) == .appended })
            }
            try etcd.start(member)
            try etcd.awaitHealth(member)
        }
        let last = Self.end(writer)
        #expect(followed.wait { $0.places.last == last })
        #expect(Set(followed.places).count == followed.places.count)
        #expect(followed.places == followed.places.sorted())
        #expect(Set(followed.entries).count >= 61)
    }

    private static func compact(_ client: EtcdClient, _ revision: UInt64) {
        let request = EtcdRequest.compact(revision)
        _ = awaited {
            client.send(
                "/etcdserverpb.KV/Compact",
                request,
                .put,
                for: .compaction,
                timeout: Patience.duration,
                completion: $0
            )
        }
    }

    @Test func `a compaction is reported, and so is a log that went back`() throws {
        let etcd = try EtcdProcesses()
        let log = Self.log(etcd)
        for number in UInt8(0)..<10 { #expect(Self.append(log, [number]) == .appended) }
        let end = try #require(Self.end(log))
        let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        Self.compact(client, end.number - 2)
        let (enough, ahead) = (Followed(), Followed())
        // Nothing is missed after the second place, but it can be the place of another log.
        for place in [.start, LogPlace(end.number - 3)] {
            let compacted = Followed()
            log.follow(after: place) { compacted.add($0) }
            #expect(compacted.awaitOne({ if case .compacted = $0 { true } else { false } }))
            #expect(compacted.entries.isEmpty)
        }
        log.follow(after: LogPlace(end.number - 2)) { enough.add($0) }
        #expect(enough.wait { $0.entries.count == 2 })
        // Nothing is missed, although etcd has forgotten all.
        let other = Self.log(etcd, key: "other")
        #expect(Self.append(other, [1]) == .appended)
        Self.compact(client, end.number + 1)
        let (level, new) = (Followed(), Followed())
        log.follow(after: end) { level.add($0) }
        let isLast = { (event: LogEvent) in
            if case .last(end, [9]) = event { true } else { false }
        }
        #expect(level.awaitOne(isLast))
        let empty = Self.log(etcd, key: "empty")
        empty.follow(after: .start) { new.add($0) }
        #expect(Self.append(log, [10]) == .appended && Self.append(empty, [0]) == .appended)
        #expect(level.wait { $0.entries == [[10]] } && new.wait { $0.entries == [[0]] })
        // Also if there are entries before somebody follows.
        let late = Followed()
        let again = Self.log(etcd, key: "empty")
        again.follow(after: .start) { late.add($0) }
        #expect(late.wait { $0.entries == [[0]] })
        again.stop()
        let last = try #require(level.places.last)
        log.follow(after: LogPlace(end.number + 9)) { ahead.add($0) }
        #expect(ahead.awaitOne({ if case .wentBack(last) = $0 { true } else { false } }))
    }

    @Test func `without a quorum it says so, and goes on afterwards`() async throws {
        let etcd = try EtcdProcesses(members: 3)
        let log = Self.log(etcd)
        let followed = Followed()
        log.follow(after: .start) { followed.add($0) }
        #expect(Self.append(log, [0]) == .appended)
        etcd.signal(1, SIGKILL)
        etcd.signal(2, SIGKILL)
        #expect(Self.end(log) == nil)
        guard case .unknown = Self.append(log, [1]) else {
            Issue.record("it has an outcome")
            return
        }
        #expect(followed.awaitOne({ if case .disconnected = $0 { true } else { false } }))
        try etcd.start(1)
        try etcd.start(2)
        try etcd.awaitHealth(0)
        #expect(Self.wait { Self.append(log, [2]) == .appended })
        #expect(followed.wait { $0.entries.last == [2] })
    }
}
