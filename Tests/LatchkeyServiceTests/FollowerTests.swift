import Foundation
import LatchkeyHTTP
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas
@testable import LatchkeyStore

/// A follower whose leader is late, fails or has forgotten.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct FollowerTests {
    private static let gone = HTTPStatus(rawValue: 410)

    @Test func `the age counts from before the leader was asked`() async throws {
        let isOver = DispatchSemaphore(value: 0)
        let leader = try FakeLeader { number in
            if number == 3 { isOver.wait() }
            return nil
        }
        defer { isOver.signal() }
        // The third question comes when the second answer has its effect.
        let asked = try leader.awaitArrivals("/v1/changes", 3)
        let now = StateAge.now()
        #expect(leader.state.age.level.ageNanoseconds >= now - asked[1])
    }

    @Test func `the age of the first state counts from before it was asked for`() async throws {
        let leader = try FakeLeader { _ in (.unavailable, "") }
        let asked = try leader.awaitArrivals("/v1/export", 1)
        let now = StateAge.now()
        #expect(leader.state.age.level.ageNanoseconds >= now - asked[0])
    }

    @Test(arguments: [HTTPStatus.unavailable, gone])
    func `a leader that fails, or has always forgotten, is asked after pauses that grow`(
        status: HTTPStatus
    ) async throws {
        let isOver = DispatchSemaphore(value: 0)
        let leader = try FakeLeader { number in
            if number == 6 { isOver.wait() }
            return (status, "")
        }
        defer { isOver.signal() }
        let times = try leader.awaitArrivals("/v1/changes", 6)
        for (index, (former, next)) in zip(times, times.dropFirst()).enumerated() {
            let least = UInt64(RetryPause.millisecondsMin << index / 2) * 1_000_000
            #expect(next - former >= least / 2, "after attempt \(index)")
        }
        // The sixth answer does not come, so no question follows it.
        #expect(try leader.awaitArrivals("/v1/export", 1).count <= 6)
    }

    @Test func `pauses grow to a limit, and start again`() {
        for _ in 0..<100 {
            var pause = RetryPause()
            for nominal in [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000] {
                let range = Duration.milliseconds(nominal / 2)...Duration.milliseconds(nominal)
                #expect(range.contains(pause.next()))
            }
            pause.restart()
            let least = Duration.milliseconds(50)...Duration.milliseconds(100)
            #expect(least.contains(pause.next()))
        }
    }

    @Test func `changes that do not fit cost another export, and nothing of them stays`()
        async throws
    {
        let leader = try FakeLeader { number in
            guard number == 1 else { return nil }
            // A change of a missing property, after a missing revision.
            let change =
                #"{"revision":7,"milliseconds":1,"effects":[{"type":"expire","name":"a"}]}"#
            return (.ok, FakeLeader.page(latest: 7, change))
        }
        _ = try leader.awaitArrivals("/v1/export", 2)
        _ = try leader.awaitArrivals("/v1/changes", 3)
        #expect(leader.journal.last == FakeLeader.revision)
        #expect(leader.state.reading.word == "following")
    }

    @Test func `followers that are promoted one after the other begin at other revisions`()
        async throws
    {
        var revisions: [Revision] = []
        // Before the clock reaches the leader's revision, and long after that.
        for milliseconds in [0, 1000, 1_700_000_000_000, 1_700_000_001_000] as [Int64] {
            let clock = StoreClock { Timestamp(milliseconds: milliseconds) }
            let leader = try FakeLeader(clock: clock) { _ in nil }
            let promoted = Guarded<Revision?>(nil)
            let isDone = Gate()
            leader.follower.promote { revision in
                promoted.write { $0 = revision }
                isDone.open()
            }
            #expect(isDone.pass())
            let revision = try #require(promoted.read { $0 })
            #expect(revision >= FakeLeader.revision + 1 << 32)
            #expect(leader.journal.last == revision)
            for other in revisions {
                #expect(max(other, revision) - min(other, revision) >= 1 << 20)
            }
            revisions.append(revision)
        }
    }
}
