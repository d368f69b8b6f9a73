import LatchkeyHTTP
import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyWatches

/// The demands of requests on the state that they read, and the waits for it.
struct FreshnessTests {
    @Test(arguments: [
        ("consistency=local", true), ("consistency=", true), ("a=1&min-revision=7", true),
        ("min-revision=7&a=1", true), ("", false), ("a=1", false), ("consistency", false),
        ("a=consistency=local", false), ("xconsistency=local", false), ("consistencyx=1", false),
        ("min-revision", false), ("a=1&", false), ("&", false), ("%63onsistency=local", false),
    ])
    func `a query is asked for the parameters without being read`(query: String, isAsked: Bool) {
        Self.withBytes(query) { #expect(Freshness.isAsked(in: $0) == isAsked) }
    }

    @Test func `the parameters are read`() throws {
        #expect(try Self.freshness("a=1") == Freshness())
        #expect(try Self.freshness("consistency=local") == Freshness())
        let all = try Self.freshness("consistency=linearizable&min-revision=7&wait=20.5")
        #expect(all.isLinearizable && all.revision == 7 && all.wait == 20_500)
        #expect(try Self.freshness("min-revision=7&wait=1").wait == 5000)
        #expect(try Self.freshness("min-revision=\(1 << 62)").revision == 1 << 62)
    }

    @Test(arguments: [
        "consistency=", "consistency=strong", "consistency=local&consistency=local",
        "min-revision=", "min-revision=-1", "min-revision=7.1", "min-revision=+7",
        "min-revision=1&min-revision=1", "consistency=local&wait=61",
        "min-revision=4611686018427387905", "min-revision=9999999999999999999",
    ])
    func `other values are refused`(query: String) {
        #expect(throws: RequestFailure.self) { try Self.freshness(query) }
    }

    private static func freshness(_ text: String) throws -> Freshness {
        try withBytes(text) { try Freshness(try Query($0)) }
    }

    private static func withBytes<Result>(
        _ text: String,
        _ body: (Bytes) throws -> Result
    ) rethrows -> Result {
        var text = text
        return try text.withUTF8 { try unsafe body(Bytes($0)) }
    }

    @Test func `a wait for a revision ends with it, whatever it changes`() {
        let rig = WatchRig()
        rig.commit(increment: ["a"])
        let ends = Synchronized<[UInt64], LockStrategy>([])
        for (id, revision) in [(1, 4), (2, 3), (3, 3), (4, 1)] as [(UInt64, Revision)] {
            wait(rig, id, until: revision) { ends.write { $0.append(id) } }
        }
        // There already.
        #expect(ends.read { $0 } == [4])
        rig.increment("b")
        #expect(ends.read { $0 } == [4])
        // No event.
        rig.touch("b")
        rig.run()
        #expect(ends.read { $0 } == [4, 2, 3])
        rig.pump.end(wait: 1, .gone)
        rig.increment("b")
        #expect(ends.read { $0 } == [4, 2, 3, 1])
        #expect(rig.pump.run(rig.now) == nil)
    }

    @Test func `a wait for a revision ends when the history is replaced`() {
        let rig = WatchRig()
        let ends = Synchronized<[UInt64], LockStrategy>([])
        wait(rig, 1, until: 1000) { ends.write { $0.append(1) } }
        rig.run()
        rig.journal.restart(after: 2000)
        rig.run()
        #expect(ends.read { $0 } == [1])
    }

    private func wait(
        _ rig: WatchRig,
        _ id: UInt64,
        until revision: Revision,
        _ end: @escaping @Sendable () -> Void
    ) {
        rig.pump.wait(
            id,
            WatchWait(
                filter: WatchFilter([]),
                since: .max,
                until: revision,
                deadlineNanoseconds: rig.now + 60_000_000_000
            ) { _ in end() }
        )
    }
}
