import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// States of earlier revisions, and the lines of exports.
struct StateWalkTests {
    private typealias Store = BlockingStore

    private static let time = Timestamp(milliseconds: 0)

    private static func commit(_ store: Store, _ change: Change) throws -> Commit {
        try store.execute(change, at: time).get()
    }

    private static func put(_ name: String, _ value: String, ttl: TimeToLive? = nil) -> Change {
        let value = OwnedBytes(Array(value.utf8))
        return withExtendedLifetime(value) {
            Change([unsafe Change.Step(.owning(name), .put(value.bytes), ttl: ttl).copy(.none)])
        }
    }

    private static func lines(_ walk: StateWalk) -> String {
        var bytes: [UInt8] = []
        for property in walk {
            ExportLine.append(property, at: walk.time, to: &bytes)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `each state comes back when the later commits are undone`() throws {
        let store = Store(stripeCount: 4)
        var random = SeededGenerator(3)
        var commits: [Commit] = []
        var states: [String] = []
        for number in 0..<200 {
            let name = "n\(Int.random(in: 0..<9, using: &random))"
            if store.property(name) != nil, Bool.random(using: &random) {
                commits.append(try Self.commit(store, .delete(.owning(name))))
            } else {
                commits.append(try Self.commit(store, Self.put(name, "\(number)")))
            }
            let snapshot = store.snapshot()
            states.append(Self.lines(StateWalk(snapshot, prefix: OwnedBytes([]))))
        }
        let snapshot = store.snapshot()
        for index in states.indices {
            for prefix in ["", "n3", "o"] {
                let walk = StateWalk(
                    snapshot,
                    undoing: Array(commits[(index + 1)...]),
                    to: commits[index].revision,
                    prefix: OwnedBytes(Array(prefix.utf8))
                )
                let expected = states[index].split(separator: "\n")
                    .filter { $0.hasPrefix("{\"name\":\"\(prefix)") }
                #expect(Self.lines(walk).split(separator: "\n") == expected)
                #expect(walk.revision == commits[index].revision)
            }
        }
    }

    @Test func `an earlier state has a property until a commit removed it`() throws {
        let clock = StoreClock { Timestamp(milliseconds: 5000) }
        let store = BlockingStore(stripeCount: 1, clock: clock)
        _ = try Self.commit(store, Self.put("a", "1", ttl: 4000))
        _ = try Self.commit(store, Self.put("b", "2", ttl: 6250))
        let snapshot = store.snapshot()
        let rest = "{\"name\":\"b\",\"value\":2,\"revision\":2,\"created\":2,\"ttl\":1.250}\n"
        #expect(Self.lines(StateWalk(snapshot, prefix: OwnedBytes([]))) == rest)
        let past = StateWalk(snapshot, undoing: [], to: 2, prefix: OwnedBytes([]))
        let first = "{\"name\":\"a\",\"value\":1,\"revision\":1,\"created\":1,\"ttl\":0.001}\n"
        #expect(Self.lines(past) == first + rest)
    }

    @Test func `a line has escaped names, values on one line, and all digits`() throws {
        let store = Store(stripeCount: 1)
        _ = try Self.commit(store, Self.put("a\"\\é", "{\n\"x\":\r1}"))
        _ = try Self.commit(store, Self.put("b", "1", ttl: 315_360_000_000))
        _ = try Self.commit(store, Self.put("c", "1", ttl: 1))
        let snapshot = store.snapshot()
        #expect(
            Self.lines(StateWalk(snapshot, prefix: OwnedBytes([])))
                == """
                {"name":"a\\"\\\\é","value":{ "x": 1},"revision":1,"created":1}
                {"name":"b","value":1,"revision":2,"created":2,"ttl":315360000.000}
                {"name":"c","value":1,"revision":3,"created":3,"ttl":0.001}

                """
        )
        let longest = unsafe Property(name: .owning("z"), value: OwnedBytes([0x31]).bytes)
        longest.assign(revision: .max, created: .max - 1, expiry: .never)
        var bytes: [UInt8] = []
        ExportLine.append(longest, at: Self.time, to: &bytes)
        let line = String(decoding: bytes, as: UTF8.self)
        #expect(line.contains("\"revision\":18446744073709551615"))
        #expect(line.contains("\"created\":18446744073709551614"))
    }
}
