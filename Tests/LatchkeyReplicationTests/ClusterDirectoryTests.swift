import Dispatch
import Foundation
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// What replicas tell each other beside the log.
@Suite(.timeLimit(.minutes(2)))
struct ClusterDirectoryTests {
    private static func record(_ place: UInt64, _ time: Int64 = 0) -> ClusterDirectory.Record {
        ClusterDirectory.Record(url: "", place: place, revision: 1, state: "serving", time: time)
    }

    private static func wait<Answer: Sendable>(
        _ call: (@escaping @Sendable (Answer) -> Void) -> Void
    ) -> Answer? {
        let answer = Guarded<Answer?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        call { made in
            answer.write { $0 = made }
            isDone.signal()
        }
        isDone.wait()
        return answer.read { $0 }
    }

    @Test
    func `the log is kept for all replicas of the last hour, and for the best of each cluster`() {
        let hour = ClusterDirectory.absenceMilliseconds
        let now = 10 * hour
        typealias Directory = ClusterDirectory
        #expect(Directory.bound(of: [:], at: now) == nil)
        #expect(
            Directory.bound(
                of: ["a/1": Self.record(7, now), "a/2": Self.record(5, now - 1)],
                at: now
            )
                == LogPlace(5)
        )
        #expect(
            Directory.bound(
                of: ["a/1": Self.record(7, now), "a/2": Self.record(5, now - hour)],
                at: now
            ) == LogPlace(7)
        )
        #expect(
            Directory.bound(
                of: [
                    "a/1": Self.record(7, now), "b/1": Self.record(3, 0), "b/2": Self.record(4, 0),
                ],
                at: now
            ) == LogPlace(4)
        )
        #expect(
            Directory.bound(of: ["a/1": Self.record(7, now), "b/1": Self.record(0, now)], at: now)
                == nil
        )
    }

    @Test func `the format of entries is one that all replicas of the last hour read`() throws {
        let hour = ClusterDirectory.absenceMilliseconds
        var (new, old) = (Self.record(1, 2 * hour), Self.record(1, 2 * hour))
        new.format = 3
        old.format = nil
        typealias Directory = ClusterDirectory
        #expect(Directory.format(of: [:], at: 2 * hour) == 1)
        #expect(Directory.format(of: ["1": new], at: 2 * hour) == 3)
        #expect(Directory.format(of: ["1": new, "2": old], at: 2 * hour) == 1)
        old.format = 2
        #expect(Directory.format(of: ["1": new, "2": old], at: 2 * hour) == 2)
        old.time = hour
        #expect(Directory.format(of: ["1": new, "2": old], at: 2 * hour) == 3)
        // Versions before formats were said.
        let json = #"{"url":"","place":1,"revision":1,"state":"serving","time":1}"#
        let first = try JSONDecoder().decode(Directory.Record.self, from: Data(json.utf8))
        #expect(first.format == nil)
    }

    @Test func `settings are those of the first, and clusters do not see each other`() async throws
    {
        try await offPool {
            let etcd = try EtcdProcesses()
            let client = EtcdClient(etcd.addresses.compactMap { EtcdServer($0) }, EtcdTrust())
            let one = ClusterDirectory(client, name: "one")
            let other = ClusterDirectory(client, name: "other")
            #expect(Self.wait { one.agree(on: [1], completion: $0) } == .success([1]))
            #expect(Self.wait { one.agree(on: [2], completion: $0) } == .success([1]))
            #expect(Self.wait { other.agree(on: [2], completion: $0) } == .success([2]))
            for (directory, place) in [(one, UInt64(9)), (other, 4)] {
                let failure = Self.wait {
                    directory.say(Self.record(place), of: "r1", completion: $0)
                }
                #expect(failure == .some(nil))
            }
            #expect(Self.wait { one.records(completion: $0) } == .success(["r1": Self.record(9)]))
            let all = Self.wait { one.records(ofAll: true, completion: $0) }
            #expect(try all?.get().keys.sorted() == ["one/r1", "other/r1"])
            #expect(Self.wait { one.compact(at: 0, completion: $0) } == .some(LogPlace(4)))
        }
    }
}
