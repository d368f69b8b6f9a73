import LatchkeyComparison
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService
@testable import LatchkeyWatches

/// The output of the pump, without its thread.
@Suite(.timeLimit(.minutes(15)))
struct WatchPumpTests {
    private static let names = ["a", "a/1", "a/2", "b", "b/1", "c"]
    private static let filters: [WatchFilter] = [
        .prefixed(""), .prefixed("a"), .prefixed("a/"), .named("a"), .named("b/1"), .named("none"),
        .mixed, .mixed.withPrevious, .named("a").withPrevious, .sparse("a/*", [.put]),
        .sparse("*/1", [.delete]), .sparse("*", [.put, .delete]),
    ]

    /// Commits of one to four effects.
    private static func commitSome(_ rig: WatchRig, _ count: Int, _ random: inout SeededRandom) {
        for _ in 0..<count {
            let chosen = names.shuffled(using: &random).prefix(
                Int.random(in: 1...4, using: &random)
            )
            let split = Int.random(in: 0...chosen.count, using: &random)
            rig.commit(
                increment: Array(chosen.prefix(split)),
                delete: Array(chosen.dropFirst(split))
            )
        }
    }

    private static func events(_ bytes: [UInt8]) -> [EventStreamParser.Event] {
        var parser = EventStreamParser()
        return parser.feed(bytes)
    }

    @Test func `a watcher gets the commits after it, with ids, and an id before them`() {
        let rig = WatchRig()
        rig.put("old", "0")
        let stream = rig.open(.now(1))
        rig.run()
        #expect(stream.text == "retry: 1000\nid: 1\n\n")
        rig.put("a", "[1,\n2]")
        rig.commit(increment: ["n"], delete: ["a"])
        rig.run()
        #expect(
            stream.text == """
                retry: 1000
                id: 1

                event: put
                data: {"name":"a","revision":2,"created":2,"value":[1, 2]}
                id: 2

                event: put
                data: {"name":"n","revision":3,"created":3,"value":1}
                id: 3.1

                event: delete
                data: {"name":"a","revision":3,"reason":"deleted"}
                id: 3


                """
        )
        #expect(rig.counters.events.value == 3)
    }

    @Test func `each stream is told a time of its own after which to come back`() {
        let rig = WatchRig()
        let streams = (0..<3).map { _ in rig.open(.now(0)) }
        #expect(
            streams.map { $0.text.prefix { $0 != "\n" } } == [
                "retry: 1000", "retry: 1001", "retry: 1002",
            ]
        )
        #expect(ServerSentEvents.retryMilliseconds == 1000...3000)
    }

    @Test(arguments: filters) func `a client that is cut off anywhere loses and repeats nothing`(
        filter: WatchFilter
    ) {
        var random = SeededRandom(seed: 11)
        let rig = WatchRig()
        Self.commitSome(rig, 12, &random)
        let start = WatchPlace(revision: 0)
        let whole = rig.drain(rig.open(filter, .place(start)))
        let expected = rig.expected(filter, from: start)
        #expect(Self.events(whole) == expected)
        for cut in 0...whole.count {
            var parser = EventStreamParser(lastID: "0")
            let before = parser.feed(whole.prefix(cut))
            guard let place = WatchPlace(parser.lastID) else {
                Issue.record("'\(parser.lastID)' is not a place")
                return
            }
            let after = Self.events(rig.drain(rig.open(filter, .place(place))))
            guard before + after == expected else {
                Issue.record("cut at \(cut), resumed at \(parser.lastID)")
                return
            }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `slow and fast clients get the same, whatever the order of things`(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let rig = WatchRig()
        var clients: [(filter: WatchFilter, place: WatchPlace, stream: FakeStream, got: [UInt8])] =
            []
        for _ in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where clients.count < 20:
                let filter = Self.filters.randomElement(using: &random) ?? .prefix([])
                let place = WatchPlace(revision: .random(in: 0...rig.last, using: &random))
                let capacity = [50, 300, 2_000, .max].randomElement(using: &random) ?? 1
                let stream = rig.open(filter, .place(place), capacity: capacity)
                clients.append((filter, place, stream, []))
            case 1...3:
                Self.commitSome(rig, Int.random(in: 1...9, using: &random), &random)
            case 4...6:
                rig.run()
            default:
                guard let index = clients.indices.randomElement(using: &random) else { continue }
                let (bytes, wasFull) = clients[index].stream.take()
                clients[index].got += bytes
                if wasFull {
                    rig.pump.hasRoom(clients[index].stream.id)
                }
            }
        }
        for client in clients {
            let events = Self.events(client.got + rig.drain(client.stream))
            #expect(events == rig.expected(client.filter, from: client.place), "seed \(seed)")
        }
    }

    @Test func `a time to live that starts again is no event`() {
        let rig = WatchRig()
        rig.put("a", "1")
        let live = rig.open(.now(1))
        rig.run()
        rig.touch("a")
        rig.touch("a", increment: ["b"])
        rig.touch("a")
        rig.run()
        let late = rig.open(.place(WatchPlace(revision: 0)))
        rig.run()
        let expected = rig.expected(.prefix([]), from: WatchPlace(revision: 1))
        #expect(expected.map(\.id) == ["3"])
        #expect(Self.events(live.take().bytes) == expected)
        #expect(Self.events(late.take().bytes).map(\.id) == ["1", "3"])
    }

    @Test func `a filter has each name once, in the order of names`() {
        func part(_ text: String) -> WatchFilter.Part { .prefix(Array(text.utf8)) }
        func name(_ text: String) -> WatchFilter.Part { .name(Array(text.utf8)) }
        #expect(
            WatchFilter([part("b"), part("a"), part("ab"), name("abc")]).parts
                == [part("a"), part("b")]
        )
        #expect(WatchFilter([name("a"), part("a")]).parts == [part("a")])
        #expect(WatchFilter([name("b"), name("a"), name("b")]).parts == [name("a"), name("b")])
        #expect(WatchFilter([part("x"), part("")]).parts == [part("")])
        #expect(WatchFilter([name("a"), part("a/")]).parts == [name("a"), part("a/")])
    }

    @Test func `a place ahead of the journal waits for it`() {
        let rig = WatchRig()
        let other = rig.open(.place(WatchPlace(revision: 0)))
        let ahead = rig.open(.place(WatchPlace(revision: 2)))
        rig.increment("a", 4)
        #expect(Self.events(other.take().bytes).map(\.id) == ["1", "2", "3", "4"])
        #expect(Self.events(ahead.take().bytes).map(\.id) == ["3", "4"])
    }

    @Test func `the state comes by name and in pieces, then ready, then the changes`() throws {
        let rig = WatchRig()
        let value = "\"" + String(repeating: "v", count: 5_000) + "\""
        for name in ["b", "a", "a/1", "c"] {
            for index in 0..<30 { rig.put("\(name)\(index % 10)\(index / 10)", value) }
        }
        rig.put("a", "1")
        let revision = rig.last
        let counts: [WatchFilter: Int] = [
            .prefixed("a"): 61, .prefixed(""): 121, .named("a"): 1, .named("none"): 0,
            WatchFilter([.prefix(Array("b".utf8)), .name(Array("a".utf8)), .prefix([0x63])]): 61,
            .sparse("a/*", [.delete]): 30,
        ]
        for (filter, count) in counts {
            let stream = rig.open(filter, .state(try rig.snapshot()), capacity: 20_000)
            rig.commit(increment: ["a"])
            let events = Self.events(rig.drain(stream))
            let ready = try #require(events.firstIndex { $0.type == "ready" })
            #expect(events[ready].data == "{\"revision\":\(rig.last - 1)}")
            #expect(events[..<ready].allSatisfy { $0.type == "put" && $0.id.isEmpty })
            let names = events[..<ready].map { $0.data.split(separator: "\"")[2] }
            #expect(names == names.sorted())
            #expect(names.count == count)
            #expect(
                Array(events[(ready + 1)...])
                    == rig.expected(filter, from: WatchPlace(revision: rig.last - 1))
            )
            #expect(rig.pump.watchers[stream.id]?.state == nil, "the snapshot is given up")
        }
        #expect(revision > 0)
    }

    @Test func `a state of which few names fit is looked through in steps`() throws {
        let rig = WatchRig()
        for index in 0..<2_500 { rig.put("a\(index)", "1") }
        rig.put("b/x", "1")
        let stream = rig.open(.sparse("*/x", [.put]), .state(try rig.snapshot()))
        let events = Self.events(rig.drain(stream))
        #expect(events.map(\.type) == ["put", "ready"])
        #expect(events[0].data.hasPrefix(#"{"name":"b/x""#) && !events[0].data.contains("value"))
    }

    @Test func `a slow watcher whose place is lost is ended, and others are not`() {
        // Five increments of a short name.
        let rig = WatchRig(historyByteCount: 1300)
        let slow = rig.open(.now(0), capacity: 100)
        let fast = rig.open(.now(0))
        rig.run()
        rig.increment("a", 20)
        #expect(!slow.isEnded)
        _ = slow.take()
        rig.pump.hasRoom(slow.id)
        rig.run()
        #expect(slow.isEnded)
        #expect(slow.take().bytes.isEmpty)
        #expect(!fast.isEnded)
        #expect(Self.events(fast.take().bytes).map(\.id) == (1...20).map { "\($0)" })
    }

    @Test func `a gap says what is lost, and the state follows`() throws {
        // Two increments of a short name.
        let rig = WatchRig(historyByteCount: 520)
        for _ in 0..<5 { rig.commit(increment: ["a"]) }
        let events = Self.events(rig.drain(rig.open(.gap(try rig.snapshot()))))
        #expect(events.map(\.type) == ["gap", "put", "ready"])
        #expect(events[0].data == #"{"revision":5,"oldest":3}"#)
        #expect(events.map(\.id) == ["", "", "5"])
        #expect(rig.counters.gaps.value == 1)
    }

    @Test func `a second watcher with the observer's id replaces the first`() {
        let rig = WatchRig()
        let first = rig.open(.now(0), observer: "x")
        let other = rig.open(.now(0), observer: "y")
        rig.run()
        let second = rig.open(.now(0), observer: "x")
        rig.increment("a")
        #expect(first.isEnded)
        #expect(Self.events(first.take().bytes).map(\.type) == ["replaced"])
        for stream in [second, other] {
            #expect(!stream.isEnded)
            #expect(Self.events(stream.take().bytes).map(\.type) == ["put"])
        }
        rig.pump.gone(first.id)
        let third = rig.open(.now(1), observer: "x")
        #expect(second.isEnded)
        #expect(!third.isEnded)
    }

    @Test func `comments come in time, and move the cursor over what does not match`() {
        let rig = WatchRig()
        let stream = rig.open(.named("mine"), .now(0))
        rig.run()
        _ = stream.take()
        rig.run(after: 15_000_000_000)
        #expect(stream.text == ": keep-alive\n")
        _ = stream.take()
        rig.commit(increment: ["other"])
        rig.run(after: 15_000_000_000)
        rig.run(after: 15_000_000_000)
        #expect(stream.text.hasPrefix(": keep-alive\n"))
        #expect(stream.text.contains("id: 1\n\n"))
        #expect(stream.text.split(separator: "id: 1").count == 2)
    }

    /// The commit lies between the revision that the watch starts at and the pump's position.
    @Test func `a comment moves the cursor over what was looked at while catching up`() {
        let rig = WatchRig()
        let other = rig.open(.named("x"), .now(0))
        rig.run()
        rig.increment("other")
        let stream = rig.open(.named("mine"), .now(0))
        rig.run()
        _ = stream.take()
        rig.run(after: 15_000_000_000)
        #expect(stream.text == ": keep-alive\nid: 1\n\n")
        #expect(!other.isEnded)
    }

    @Test func `watchers of other names are not touched by a commit`() {
        let rig = WatchRig()
        let streams = (0..<1000).map { rig.open(.named("other\($0)"), .now(0)) }
        rig.run()
        let before = streams.map(\.writeCount)
        rig.increment("a", 10)
        #expect(streams.map(\.writeCount) == before)
    }

    @Test func `the journal is asked only while somebody watches, once at a time`() {
        let rig = WatchRig()
        rig.run()
        rig.increment("a")
        #expect(rig.armed.read { $0 }.isEmpty)
        let stream = rig.open(.now(1))
        rig.run()
        rig.run()
        #expect(rig.armed.read { $0 } == [2])
        rig.commit(increment: ["a"])
        rig.pump.journalMoved()
        rig.run()
        rig.run()
        #expect(rig.armed.read { $0 } == [2, 3])
        rig.pump.gone(stream.id)
        rig.pump.journalMoved()
        rig.run()
        #expect(rig.armed.read { $0 } == [2, 3])
        #expect(rig.pump.run(rig.now) == nil, "nothing is due any more")
    }

    @Test func `a stream that was over before it was opened is forgotten`() {
        let rig = WatchRig()
        rig.pump.gone(1)
        let stream = rig.open(.now(0))
        rig.increment("a")
        #expect(stream.writeCount == 0)
        #expect(rig.pump.watchers.isEmpty)
    }

    @Test func `a drain sends what there is, then the last event, and to later ones only that`() {
        let rig = WatchRig()
        let stream = rig.open(.now(0))
        rig.run()
        rig.commit(increment: ["a"])
        rig.pump.drain(rig.now)
        #expect(Self.events(stream.take().bytes).map(\.type) == ["put", "close"])
        #expect(stream.isEnded)
        let late = rig.open(.now(1))
        #expect(Self.events(late.take().bytes).map(\.type) == ["close"])
        #expect(late.isEnded)
    }
}
