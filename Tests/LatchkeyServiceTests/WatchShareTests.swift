import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService
@testable import LatchkeyWatches

/// How the pump divides its time, and that of the threads that serve: work is counted, and time
/// passes only where the test says so.
@Suite(.timeLimit(.minutes(15)))
struct WatchShareTests {
    private static let names = (0..<300).map { "import/\($0)" }

    /// Lets the pump run until the time, when it wants to.
    private static func run(_ rig: WatchRig, until end: UInt64) {
        while rig.now < end {
            guard let next = rig.pump.run(rig.now), next < end else { break }
            rig.now = max(rig.now, next)
        }
        rig.now = max(rig.now, end)
    }

    /// How long it takes until a stream that has nothing gets what was committed.
    private static func delay(_ rig: WatchRig, _ stream: FakeStream) -> UInt64 {
        let start = rig.now
        rig.pump.journalMoved()
        while stream.text.isEmpty, let next = rig.pump.run(rig.now), stream.text.isEmpty {
            rig.now = max(rig.now, next)
        }
        return rig.now - start
    }

    private static let milliseconds: UInt64 = 1_000_000

    @Test func `a live watcher is at most 250 ms behind beside 200 that catch up`() {
        let rig = WatchRig(writeNanoseconds: 100_000)
        for _ in 0..<100 { rig.commit(increment: Self.names) }
        let live = rig.open(.named("mine"), .now(rig.last))
        rig.run()
        let others = (0..<200).map { _ in rig.open(.place(WatchPlace(revision: 0))) }
        var latest: UInt64 = 0
        for _ in 0..<20 {
            _ = live.take()
            rig.commit(increment: ["mine"])
            latest = max(latest, Self.delay(rig, live))
            Self.run(rig, until: rig.now + 10 * Self.milliseconds)
        }
        #expect(latest <= 250 * Self.milliseconds, "\(latest / Self.milliseconds) ms")
        #expect(others.contains { $0.writeCount > 1 }, "they catch up, too")
        #expect(others.contains { $0.writeCount < 131 }, "and had not when the test ended")
    }

    @Test(arguments: [1, 100, 900, 9000])
    func `the work for live watchers is a share of the processors' time`(count: Int) {
        let rig = WatchRig()
        let streams = (0..<count).map { _ in rig.open(.now(0)) }
        rig.run()
        let start = rig.now
        let before = streams.reduce(0) { $0 + $1.writeCount }
        let seconds: UInt64 = 2
        let end = start + seconds * 1000 * Self.milliseconds
        while rig.now < end {
            rig.commit(increment: ["a"])
            rig.pump.journalMoved()
            Self.run(rig, until: rig.now + 10 * Self.milliseconds)
        }
        let writes = UInt64(streams.reduce(0) { $0 + $1.writeCount } - before)
        // One round more, because the last one is paid for by the rest behind it.
        let work = (writes - UInt64(count)) * WatchPace.writeNanoseconds
        #expect(work <= (end - start) * 2 / WatchPace.share)
        #expect(writes >= UInt64(count) * seconds * 2, "twice a second at least")
    }

    /// Each commit is 60 MB for all of them, which is more than their share can send.
    @Test func `long pieces for many watchers are sent within their share, and all arrive`() {
        let rig = WatchRig()
        let streams = (0..<200).map { _ in rig.open(.prefixed("a"), .now(0)) }
        let other = rig.open(.named("b"), .now(0))
        rig.run()
        let value = "\"\(String(repeating: "v", count: 300_000))\""
        let start = rig.now
        let commitCount = 10
        var byteCount: UInt64 = 0
        var latest: UInt64 = 0
        for _ in 0..<commitCount {
            _ = other.take()
            let begin = rig.now
            rig.put("a", value)
            rig.put("b", "1")
            latest = max(latest, Self.delay(rig, other))
            Self.run(rig, until: begin + 100 * Self.milliseconds)
            byteCount += streams.reduce(0) { $0 + UInt64($1.take().bytes.count) }
        }
        // Rounds and slices have a share each, and the last of each is paid for behind it.
        let time = rig.now - start + 2 * WatchPace.restNanosecondsMax
        #expect(byteCount * WatchPace.byteNanoseconds <= time * 2 * 2 / WatchPace.share)
        #expect(latest <= 250 * Self.milliseconds, "another group is not delayed")
        rig.run()
        #expect(rig.counters.events.value == UInt64((streams.count + 1) * commitCount))
    }

    /// The history holds what is committed in 100 ms, and so many watchers are worth longer rests.
    @Test func `watchers that read keep their places, however fast the history passes`() {
        let rig = WatchRig(historyByteCount: 26_268)
        let streams = (0..<2000).map { _ in rig.open(.now(0)) }
        rig.run()
        let commitCount = 1000
        for _ in 0..<commitCount {
            rig.commit(increment: ["a"])
            rig.pump.journalMoved()
            Self.run(rig, until: rig.now + Self.milliseconds)
            for stream in streams { _ = stream.take() }
        }
        rig.run()
        #expect(streams.count { $0.isEnded } == 0)
        #expect(rig.counters.events.value == UInt64(streams.count * commitCount))
    }

    /// The kernel takes new memory for the first bytes of a stream: that starved the writers.
    @Test func `the first bytes of many streams are sent within their share`() {
        let rig = WatchRig()
        let streams = (0..<1500).map { _ in rig.open(.now(0), capacity: 180_000) }
        rig.run()
        let value = "\"\(String(repeating: "v", count: 15_000))\""
        let start = rig.now
        for _ in 0..<100 {
            rig.put("a", value)
            rig.pump.journalMoved()
            Self.run(rig, until: rig.now + 10 * Self.milliseconds)
        }
        let byteCount = streams.reduce(0) { $0 + UInt64($1.take().bytes.count) }
        // Rounds and slices have a share each, and the last of each is paid for behind it.
        let time = rig.now - start + 2 * WatchPace.restNanosecondsMax
        #expect(byteCount * WatchPace.newByteNanoseconds <= time * 2 * 2 / WatchPace.share)
        #expect(byteCount > 0)
    }

    @Test func `bytes of a stream cost more up to a bound`() {
        var work = WatchPace.Work()
        work.add(100, behind: WatchPace.newByteCountMax - 1)
        #expect(work.newByteCount == 100 && work.byteCount == 0)
        work.add(10, behind: WatchPace.newByteCountMax)
        #expect(work.newByteCount == 100 && work.byteCount == 10)
    }

    @Test func `a watcher that does not read is not touched until its stream has room`() {
        let rig = WatchRig()
        let stream = rig.open(.now(0), capacity: 200)
        let other = rig.open(.now(0))
        rig.increment("a", 10)
        let before = stream.writeCount
        rig.increment("a", 100)
        #expect(stream.writeCount == before)
        #expect(!other.isEnded)
        let (_, wasFull) = stream.take()
        #expect(wasFull)
        rig.pump.hasRoom(stream.id)
        rig.run()
        #expect(stream.writeCount > before)
    }

    @Test func `those that resume at one place are sent the same memory`() {
        let rig = WatchRig()
        rig.put("a", "\"\(String(repeating: "v", count: 1_000_000))\"")
        rig.put("b", "1")
        let streams = (0..<50).map { _ in
            rig.open(.place(WatchPlace(revision: 0)), capacity: 2_000_000)
        }
        rig.run()
        let held = rig.answers.byteCount
        #expect(held > 1_000_000)
        #expect(held < 1_100_000, "one copy for all")
        for stream in streams { #expect(stream.take().bytes.count > 1_000_000) }
        #expect(rig.answers.byteCount == 0, "nothing is kept behind the last of them")
    }

    @Test func `a piece is made anew once more has gathered behind it, unless it is whole`() {
        let rig = WatchRig()
        var pieces = WatchPieces()
        func place(through position: Revision, size: Int) -> Revision? {
            let start = WatchPlace(revision: 0)
            let piece = pieces.piece(
                .prefix([]),
                at: start,
                through: WatchPlace(revision: position),
                0
            ) {
                var batch = EventBatch(at: start)
                batch.add([UInt8](repeating: 0, count: size), 0, after: 0, hasTime: false)
                batch.endCommit(position)
                return WatchPiece(batch, rig.answers)
            }
            return piece?.end.revision
        }
        #expect(place(through: 1, size: EventBatch.byteCountMax - 100) == 1)
        #expect(place(through: 1, size: 1) == 1, "made once")
        #expect(place(through: 2, size: EventBatch.byteCountMax) == 2)
        #expect(place(through: 3, size: 1) == 2, "as much as one piece can have")
    }

    @Test func `an unread state ends when the history has passed it`() throws {
        // Five increments of a short name.
        let rig = WatchRig(historyByteCount: 1300)
        for index in 0..<50 { rig.put("a\(index)", "\"\(String(repeating: "v", count: 5000))\"") }
        let unread = rig.open(.state(try rig.snapshot()), capacity: 20_000)
        let reading = rig.open(.state(try rig.snapshot()))
        rig.run()
        rig.increment("b", 5)
        #expect(!unread.isEnded, "at the bound, the history still has what follows the state")
        rig.increment("b")
        #expect(unread.isEnded)
        #expect(rig.pump.watchers[unread.id]?.state == nil, "the snapshot is given up")
        #expect(!reading.isEnded)
    }

    @Test(arguments: ["replaced", "close"])
    func `the last event goes out though the stream is full`(type: String) {
        let rig = WatchRig()
        let full = rig.open(.now(0), observer: "x", capacity: 100)
        rig.increment("a", 5)
        let before = full.text
        if type == "close" {
            rig.pump.drain(rig.now)
        } else {
            _ = rig.open(.now(0), observer: "x")
        }
        #expect(full.isEnded)
        #expect(full.text.dropFirst(before.count).hasPrefix("event: \(type)\n"))
    }
}
