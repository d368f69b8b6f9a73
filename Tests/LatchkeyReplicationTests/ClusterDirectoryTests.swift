import Dispatch
import Foundation
import LatchkeyStore
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// The information that replicas share beside the log.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ClusterDirectoryTests {
    private static func record(_ place: UInt64, _ time: Int64 = 0) -> ClusterDirectory.Record {
        ClusterDirectory.Record(url: "", place: place, revision: 1, state: "serving", time: time)
    }

    @Test
    func `the log is kept for all replicas of the last hour, and for the best of each cluster`() {
        let hour = ClusterDirectory.absenceMilliseconds
        let now = 10 * hour
        func bound(_ records: [String: ClusterDirectory.Record], b end: UInt64 = 9) -> UInt64? {
            let logs = ["a": LogPlace(9), "b": LogPlace(end)]
            let ends = ClusterDirectory.Ends(logs: logs, all: LogPlace(12))
            return ClusterDirectory.bound(of: records, ends, at: now)?.number
        }
        #expect(bound([:]) == nil)
        #expect(bound(["a/1": Self.record(7, now), "a/2": Self.record(5, now - 1)]) == 5)
        #expect(bound(["a/1": Self.record(7, now), "a/2": Self.record(5, now - hour)]) == 7)
        let gone = ["b/1": Self.record(3), "b/2": Self.record(4)]
        #expect(bound(gone.merging(["a/1": Self.record(7, now)]) { one, _ in one }) == 4)
        #expect(bound(["a/1": Self.record(7, now), "b/1": Self.record(0, now)]) == nil)
        // A cluster at the end of its log holds nothing, and one that never wrote, neither.
        #expect(bound(["a/1": Self.record(7, now), "b/1": Self.record(4)], b: 4) == 7)
        #expect(bound(["a/1": Self.record(7, now), "b/1": Self.record(0, now)], b: 0) == 7)
        #expect(bound(["a/1": Self.record(7, now), "c/1": Self.record(0)]) == 7)
        #expect(bound(["a/1": Self.record(9, now), "b/1": Self.record(9, now)]) == 12)
        // One that cannot use the log any more needs nothing of it.
        var late = Self.record(2, now)
        late.needsLog = false
        #expect(bound(["a/1": Self.record(7, now), "a/2": late]) == 7)
        late.needsLog = true
        #expect(bound(["a/1": Self.record(7, now), "a/2": late]) == 2)
    }

    @Test func `a record is removed, and the first revision of the log is asked for`() throws {
        let etcd = try EtcdProcesses()
        let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        let directory = ClusterDirectory(client, name: "one")
        let log = EtcdLog(client, key: directory.logKey)
        func start() throws -> UInt64? {
            try #require(awaited { directory.logStart(completion: $0) }).get()
        }
        #expect(try start() == nil)
        for identity in ["r1", "r2"] {
            let failure = awaited {
                directory.say(Self.record(9), of: identity, completion: $0)
            }
            #expect(failure == .some(nil))
        }
        for entry in [UInt8](1...2) {
            #expect(awaited { log.append([entry], completion: $0) } == .appended)
        }
        let end = try #require(awaited { log.end(completion: $0) } ?? nil)
        #expect(try start() == end.number - 1)
        #expect(awaited { directory.remove("r1", completion: $0) } == .some(nil))
        #expect(awaited { directory.records(completion: $0) } == .success(["r2": Self.record(9)]))
    }

    /// An idle cluster has said where it is, and writes nothing.
    @Test func `a cluster without changes does not keep the log of another one`() throws {
        let etcd = try EtcdProcesses()
        let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        let (busy, idle) = (
            ClusterDirectory(client, name: "busy"), ClusterDirectory(client, name: "idle")
        )
        let logs = [busy, idle].map { EtcdLog(client, key: $0.logKey) }
        func append(_ index: Int) {
            let outcome: LogAppend? = awaited { logs[index].append([1], completion: $0) }
            #expect(outcome == .appended)
        }
        func end(_ index: Int) -> UInt64 {
            let place: LogPlace?? = awaited { logs[index].end(completion: $0) }
            return (place ?? nil)?.number ?? 0
        }
        func say(_ directory: ClusterDirectory, _ place: UInt64) {
            let failure: ClusterDirectory.Failure?? = awaited {
                directory.say(Self.record(place, 1), of: "1", completion: $0)
            }
            #expect((failure ?? nil) == nil)
        }
        append(1)
        say(idle, end(1))
        for _ in 0..<10 { append(0) }
        say(busy, end(0))
        #expect(awaited { busy.hasStart(completion: $0) } == .success(true))
        append(0)
        let bound: LogPlace?? = awaited { busy.compact(at: 1, completion: $0) }
        #expect((bound ?? nil)?.number == end(0) - 2, "the record is between the two entries")
        #expect(awaited { busy.hasStart(completion: $0) } == .success(false))
        let none = ClusterDirectory(client, name: "none")
        #expect(awaited { none.hasStart(completion: $0) } == .success(true))
    }

    @Test func `rules are raised to those that all replicas of the last hour know`() throws {
        let hour: Int64 = 3_600_000
        typealias Directory = ClusterDirectory
        func rules(_ records: Directory.Record...) -> RuleLevel {
            let named = records.enumerated().map { ("\($0.offset)", $0.element) }
            return Directory.rules(
                of: Dictionary(uniqueKeysWithValues: named),
                heardWithin: hour,
                at: 2 * hour
            )
        }
        var (new, old) = (Self.record(1, 2 * hour), Self.record(1, 2 * hour))
        #expect(new.format == 2 && rules() == .first && rules(new) == .second)
        // A replica without a format holds them back, and one of 0.1, which has format 1.
        old.format = nil
        #expect(rules(new, old) == .first)
        old.format = 1
        #expect(rules(new, old) == .first)
        old.time = hour + 1
        #expect(rules(new, old) == .first)
        old.time = hour
        #expect(rules(new, old) == .second)
        // A later version than this one.
        new.format = 9
        #expect(rules(new) == .current)
        let json = #"{"url":"","place":1,"revision":1,"state":"serving","time":1}"#
        let first = try JSONDecoder().decode(Directory.Record.self, from: Data(json.utf8))
        #expect(first.format == nil)
    }

    /// A record as 0.1 writes and reads it, and as the version before `isFull` does.
    private struct Earlier: Codable, Equatable {
        var url: String
        var place: UInt64
        var revision: UInt64
        var state: String
        var time: Int64
        var format: UInt8?
    }

    @Test func `records of versions that know nothing of full disks are read, and the other way`()
        throws
    {
        typealias Directory = ClusterDirectory
        func read<Form: Decodable>(_ form: Form.Type, _ data: Data) throws -> Form {
            try JSONDecoder().decode(form, from: data)
        }
        let earlier = Earlier(url: "u", place: 9, revision: 1, state: "serving", time: 5, format: 2)
        var record = try read(Directory.Record.self, JSONEncoder().encode(earlier))
        #expect(record.isFull == nil && record.place == 9)
        // Whether there is room or not, the earlier one reads what it knows.
        for isFull in [nil, false, true] {
            record.isFull = isFull
            let data = try JSONEncoder().encode(record)
            #expect(try read(Earlier.self, data) == earlier)
            #expect(try read(Directory.Record.self, data) == record)
            #expect(String(decoding: data, as: UTF8.self).contains("isFull") == (isFull != nil))
        }
        // A later version writes more; a value of another kind makes no record.
        let begin = #"{"url":"","place":1,"revision":1,"state":"serving","time":1,"isFull":"#
        let more = try read(Directory.Record.self, Data((begin + #"true,"later":{"a":[1]}}"#).utf8))
        #expect(more.isFull == true)
        for wrong in ["1", #""true""#, "{}", "[true]"] {
            #expect(throws: DecodingError.self) {
                try read(Directory.Record.self, Data("\(begin)\(wrong)}".utf8))
            }
        }
    }

    @Test func `settings are those of the first, and clusters do not see each other`() throws {
        let etcd = try EtcdProcesses()
        let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
        let one = ClusterDirectory(client, name: "one")
        let other = ClusterDirectory(client, name: "other")
        #expect(awaited { one.agree(on: [1], completion: $0) } == .success([1]))
        #expect(awaited { one.agree(on: [2], completion: $0) } == .success([1]))
        #expect(awaited { other.agree(on: [2], completion: $0) } == .success([2]))
        // Only a replica that knows the current settings can change them.
        #expect(awaited { one.change([2], to: [3], completion: $0) } == .success(false))
        #expect(awaited { one.settings(completion: $0) } == .success([1]))
        #expect(awaited { one.change([1], to: [3], completion: $0) } == .success(true))
        #expect(awaited { one.settings(completion: $0) } == .success([3]))
        #expect(awaited { other.settings(completion: $0) } == .success([2]))
        let missing = ClusterDirectory(client, name: "missing")
        #expect(awaited { missing.change([1], to: [3], completion: $0) } == .success(false))
        #expect(awaited { missing.settings(completion: $0) } == .success(nil))
        for (directory, place) in [(one, UInt64(9)), (other, 4)] {
            let failure = awaited {
                directory.say(Self.record(place), of: "r1", completion: $0)
            }
            #expect(failure == .some(nil))
        }
        #expect(awaited { one.records(completion: $0) } == .success(["r1": Self.record(9)]))
        let all = awaited { one.records(ofAll: true, completion: $0) }
        #expect(try all?.get().keys.sorted() == ["one/r1", "other/r1"])
        // The log of the other one goes on after its place.
        let log = EtcdLog(client, key: other.logKey)
        #expect(awaited { log.append([1], completion: $0) } == .appended)
        #expect(awaited { one.compact(at: 0, completion: $0) } == .some(LogPlace(4)))
    }
}
