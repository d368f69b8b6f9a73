import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService
@testable import LatchkeyStore
@testable import LatchkeyWatches

/// Expiries that the history has dropped, and the clients that notice it.
@Suite(.timeLimit(.minutes(15)))
struct LostExpiryTests {
    /// The puts below fit, and a few of the expiries.
    private static let byteCount = 4000

    private static func expire(_ rig: WatchRig, _ names: [String]) {
        let one = OwnedBytes([0x31])
        withExtendedLifetime(one) {
            for name in names {
                unsafe rig.commit(.put(.named(name), value: one.bytes, ttl: -1))
                rig.commit(.expire(.named(name), at: rig.last))
            }
        }
    }

    private static func events(_ bytes: [UInt8]) -> [EventStreamParser.Event] {
        var parser = EventStreamParser()
        return parser.feed(bytes)
    }

    @Test(arguments: [true, false])
    func `a watch of other names goes on, whether it is slow or not`(isSlow: Bool) throws {
        let rig = WatchRig(historyByteCount: Self.byteCount)
        let capacity = isSlow ? 100 : Int.max
        let others = rig.open(.prefixed("orders/"), .now(0), capacity: capacity)
        let concerned = rig.open(.prefixed("limits/a"), .now(0), capacity: capacity)
        rig.run()
        for _ in 0..<3 { rig.commit(increment: ["orders/a"]) }
        if isSlow { rig.run() }
        Self.expire(rig, (0..<12).map { "limits/a\($0)" })
        rig.commit(increment: ["orders/a"])
        #expect(rig.journal.oldest > 3 && rig.journal.oldestKept == 0)
        let found = Self.events(rig.drain(others)).map(\.id)
        #expect(found == ["1", "2", "3", "28"])
        #expect(!others.isEnded)
        _ = rig.drain(concerned)
        #expect(concerned.isEnded)
        let again = rig.open(.prefixed("limits/a"), .gap(try rig.snapshot()))
        let gap = try #require(Self.events(rig.drain(again)).first)
        #expect(gap.type == "gap")
        #expect(gap.data == #"{"revision":28,"oldest":\#(rig.journal.oldest)}"#)
    }

    @Test func `past values and changes of other names are still there`() {
        let rig = WatchRig(historyByteCount: Self.byteCount)
        for _ in 0..<3 { rig.commit(increment: ["orders/a"]) }
        Self.expire(rig, (0..<12).map { "limits/a\($0)" })
        func isGone(_ progress: ChangePage.Progress) -> Bool {
            if case .gone = progress { true } else { false }
        }
        for (prefix, isLost) in [("orders/", false), ("limits/", true), ("", true)] {
            var page = ChangePage(after: 0, latest: rig.last, limit: 100)
            #expect(isGone(page.read(rig.journal, .prefixed(prefix))) == isLost, "\(prefix)")
            #expect(isLost || page.next == rig.last)
        }
        var replica = ChangePage(after: 0, latest: rig.last, limit: 100, isForReplica: true)
        #expect(isGone(replica.read(rig.journal, .prefixed(""))), "it needs all")
        for (name, isLost) in [("orders/a", false), ("limits/a0", true)] {
            var search = PastValue(.named(name), asOf: 1).from(nil, latest: rig.last)
            let isFound = if case .found = search.read(rig.journal) { true } else { false }
            #expect(isFound == !isLost, "\(name)")
        }
    }
}
