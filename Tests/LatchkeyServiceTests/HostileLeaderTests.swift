import Foundation
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas
@testable import LatchkeyStore

/// A leader that sends invalid texts: each is reported, and never ends the process.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct HostileLeaderTests {
    private static let line = #"{"name":"a","value":"xxxx","revision":3,"created":2}"#

    private static func export(
        _ lines: String,
        _ limits: StoreLimits = StoreLimits()
    ) -> LeaderText.State {
        LeaderTextTests.state(Array("\(lines)\n".utf8), limits)
    }

    @Test(
        arguments: [
            // Lines that can be read, and that no client could have sent.
            #"{"name":"a","text":"","revision":3,"created":2}"#,
            #"{"name":"a","text":"{","revision":3,"created":2}"#,
            #"{"name":"a","text":"\ud800","revision":3,"created":2}"#,
            #"{"name":"a","value":1,"revision":3,"created":4}"#,
            #"{"name":"a","value":1,"revision":3,"created":0}"#,
            #"{"name":"a","value":1,"revision":9223372036854775807,"created":2}"#,
            #"{"name":"a","value":1,"revision":3,"created":2,"expires":-1}"#,
            #"{"name":"a","value":1,"revision":3,"created":2,"expires":9223372036854775807}"#,
            #"{"end":true,"count":0,"revision":9223372036854775807}"#,
            // A second end, a second property of a name, and one that is later than the end says.
            "{\"end\":true,\"count\":0,\"revision\":7}\n{\"end\":true,\"count\":0,\"revision\":7}",
            "\(line)\n\(line)", "\(line)\n{\"end\":true,\"count\":1,\"revision\":2}",
        ]
    )
    func `a line that no leader sends ends an export`(line: String) {
        #expect(Self.export(line).failure == "The export of the leader cannot be read.")
    }

    @Test func `an export beyond a bound of the replica is refused, and says which`() {
        var limits = StoreLimits(propertyCountMax: 1, byteCountMax: 7)
        limits.valueByteCountMax = 6
        #expect(Self.export(Self.line, limits).failure == nil)
        for (flag, change) in [
            ("--max-bytes", { $0.byteCountMax = 6 }),
            ("--max-properties", { $0.propertyCountMax = 0 }),
            ("--max-body-bytes", { $0.valueByteCountMax = 5 }),
        ] as [(String, (inout StoreLimits) -> Void)] {
            var less = limits
            change(&less)
            #expect(Self.export(Self.line, less).failure?.contains(flag) == true, "\(flag)")
        }
    }

    @Test func `a line without an end takes no more memory than the longest value`() {
        var limits = StoreLimits()
        limits.valueByteCountMax = 1000
        var state = LeaderText.State(limits)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1000)
        for _ in 0..<100 { unsafe piece.withUnsafeBytes { unsafe state.feed($0) } }
        #expect(state.failure?.contains("--max-body-bytes") == true)
        #expect(state.heldByteCount < 10_000)
    }

    @Test func `a page must get somewhere, unless there is nothing more`() {
        func follows(_ latest: Revision, _ next: Revision, hasCommit: Bool = false) -> Bool {
            let time = Timestamp(milliseconds: 1)
            let commit = StoredCommit(revision: next, time: time, effects: [])
            return LeaderText.Changes(
                commits: hasCommit ? [commit] : [],
                latest: latest,
                next: next
            ).follows(9)
        }
        #expect(follows(9, 9) && follows(10, 10, hasCommit: true))
        #expect(follows(99, 10, hasCommit: true) && !follows(99, 10) && !follows(99, 9))
        #expect(!follows(8, 9) && !follows(8, 8) && !follows(9, 10, hasCommit: true))
    }

    @Test(
        arguments: [
            #"{"type":"put","name":"a","created":2,"text":"","revision":8}"#,
            #"{"type":"put","name":"a","created":2,"value":1,"revision":7}"#,
            #"{"type":"put","name":"a","created":2,"value":1,"revision":9}"#,
            #"{"type":"touch","name":"a","created":2,"value":1,"revision":8}"#,
            #"{"type":"put","name":"a","created":2,"value":1,"revision":8,"expires":-1}"#,
            #"{"type":"expire","name":"a"},{"type":"expire","name":"a"}"#,
        ]
    )
    func `an effect that no leader sends is no change`(effect: String) {
        #expect(LeaderTextTests.changes(effect) == nil)
    }

    /// A page of one commit, after the first state.
    private static func page(_ effects: String, milliseconds: String = "1") -> String {
        let change =
            "{\"revision\":6,\"milliseconds\":\(milliseconds),\"effects\":[\(effects)]}"
        return FakeLeader.page(latest: 6, change)
    }

    private static func put(_ revision: Revision, _ value: String) -> String {
        "{\"type\":\"put\",\"name\":\"a\",\"created\":\(revision),\"revision\":\(revision),"
            + "\"value\":\(value)}"
    }

    @Test(
        arguments: [
            page(#"{"type":"put","name":"a","created":6,"revision":6,"text":""}"#),
            page(#"{"type":"put","name":"a","created":6,"revision":6,"text":"{"}"#),
            page(put(6, "1"), milliseconds: "-1"),
            page(put(6, "1"), milliseconds: "9223372036854775807"),
            FakeLeader.page(latest: 99, next: 10), FakeLeader.page(latest: 99, next: 5),
            FakeLeader.page(latest: 3), FakeLeader.page(latest: 3, next: 5),
        ]
    )
    func `a page that no leader sends is said, and asked for again after pauses that grow`(
        page: String
    ) async throws {
        let isOver = DispatchSemaphore(value: 0)
        let leader = try FakeLeader { number in
            if number == 5 { isOver.wait() }
            return (.ok, page)
        }
        defer { isOver.signal() }
        let times = try leader.awaitArrivals("/v1/changes", 5)
        for (index, (former, next)) in zip(times, times.dropFirst()).enumerated() {
            let least = UInt64(RetryPause.millisecondsMin << index) * 1_000_000
            #expect(next - former >= least / 2, "after attempt \(index)")
        }
        #expect(leader.journal.last == FakeLeader.revision)
        #expect(leader.state.check.detail?.contains("/v1/changes cannot be read") == true)
    }

    @Test func `a leader that sends little of much is not asked without a pause`() async throws {
        let isOver = DispatchSemaphore(value: 0)
        let leader = try FakeLeader { number in
            if number == 8 { isOver.wait() }
            let revision = FakeLeader.revision + Revision(number)
            let change =
                "{\"revision\":\(revision),\"milliseconds\":1,"
                + "\"effects\":[\(Self.put(revision, "1"))]}"
            return (.ok, FakeLeader.page(latest: 1000, change, next: revision))
        }
        defer { isOver.signal() }
        let times = try leader.awaitArrivals("/v1/changes", 8)
        for (former, next) in zip(times, times.dropFirst()) {
            #expect(next - former >= 50_000_000)
        }
    }

    @Test func `changes beyond a bound of the replica are not made, and it says which`()
        async throws
    {
        let isOver = DispatchSemaphore(value: 0)
        let long = "\"\(String(repeating: "x", count: 98))\""
        let leader = try FakeLeader(StoreLimits(propertyCountMax: 10, byteCountMax: 100)) {
            number in
            if number == 3 { isOver.wait() }
            return (.ok, Self.page(Self.put(6, long)))
        }
        defer { isOver.signal() }
        _ = try leader.awaitArrivals("/v1/changes", 3)
        #expect(leader.journal.last == FakeLeader.revision)
        #expect(leader.state.check.detail?.contains("--max-bytes") == true)
    }

    /// The texts of a leader, with seeded changes, have content that a store can have, or are
    /// refused.
    @Test(arguments: [1, 2] as [UInt64])
    func `texts that were changed are refused, or have what a store can have`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let lines =
            "\(LeaderTextTests.property)\n"
            + "{\"name\":\"b\",\"text\":\"[\\n1]\",\"revision\":4,\"created\":4}\n"
            + "{\"end\":true,\"count\":2,\"revision\":7}\n"
        let effects =
            #"{"type":"put","name":"a","created":2,"value":[1, 2],"revision":8,"expires":6},"#
            + #"{"type":"touch","name":"b","created":2,"value":1,"revision":3},"#
            + #"{"type":"delete","name":"d","reason":"evicted"}"#
        let page =
            #"{"revision":9,"changes":[{"revision":8,"milliseconds":5,"effects":["#
            + effects + #"]}],"next":8}"#
        for _ in 0..<Depth.count(5000, deep: 200_000) {
            let text = random.mutated(Array(lines.utf8), SeededGenerator.texts)
            for property in LeaderTextTests.state(text).properties { Self.check(property) }
            let changes = LeaderText.changes(
                random.mutated(Array(page.utf8), SeededGenerator.texts)
            )
            for commit in changes?.commits ?? [] {
                #expect(InputCheck.time(commit.time.milliseconds) != nil)
                _ = commit.time.calendarText
                for property in commit.effects.compactMap(\.property) { Self.check(property) }
            }
        }
    }

    private static func check(_ property: Property) {
        #expect(unsafe InputCheck.isValue(property.valueBytes))
        #expect(property.created > 0 && property.created <= property.revision)
        #expect(property.revision <= InputCheck.revisionMax)
        #expect(!property.isMortal || InputCheck.expiry(property.expiry.milliseconds) != nil)
    }
}
