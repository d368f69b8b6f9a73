import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService
@testable import LatchkeyWatches

/// How the pump divides its time, and that of the threads that serve: work takes planted times.
@Suite(.timeLimit(.minutes(15)))
struct WatchShareTests {
    private static let names = (0..<300).map { "import/\($0)" }

    /// Lets the pump run until the time, when it wants to.
    private static func run(_ rig: WatchRig, until end: UInt64) {
        while rig.now < end {
            rig.pass(to: min(rig.pump.run(rig.now) ?? .max, end))
        }
    }

    /// How long it takes until a stream that has nothing gets a commit.
    private static func delay(_ rig: WatchRig, _ stream: FakeStream) -> UInt64 {
        let start = rig.now
        rig.pump.journalMoved()
        while stream.text.isEmpty, let next = rig.pump.run(rig.now), stream.text.isEmpty {
            rig.pass(to: next)
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

    private static let writeNanoseconds: UInt64 = 10_000

    /// Makes a commit each 10 ms, for this many watchers.
    ///
    /// - Returns: How many writes there were for each watcher.
    private static func deliver(_ rig: WatchRig, to count: Int, seconds: UInt64) -> Double {
        let streams = (0..<count).map { _ in rig.open(.now(0)) }
        rig.run()
        let before = streams.reduce(0) { $0 + $1.writeCount }
        for _ in 0..<(seconds * 100) {
            rig.commit(increment: ["a"])
            rig.pump.journalMoved()
            run(rig, until: rig.now + 10 * milliseconds)
        }
        return Double(streams.reduce(0) { $0 + $1.writeCount } - before) / Double(count)
    }

    @Test(arguments: [1, 100, 900, 3000])
    func `the work for live watchers is a share of the processors' time beside others`(
        count: Int
    ) {
        let serving = FakeServing(writeNanoseconds: Self.writeNanoseconds, isBusy: true)
        let rig = WatchRig(serving: serving)
        let start = rig.now
        let writes = Self.deliver(rig, to: count, seconds: 2)
        let time = Double((rig.now - start) * serving.processorShare)
        let share = time / Double(1 + WatchTurns.share)
        // Before the first rounds nothing is known of others; the last one is paid for later.
        #expect(Double(serving.work) <= share + Double(5 * UInt64(count) * Self.writeNanoseconds))
        #expect(writes >= 4, "twice a second at least")
    }

    /// 2,000 streams need a whole processor.
    @Test(arguments: [1, 100, 1000, 1600])
    func `each commit has a round of its own on an idle machine`(count: Int) {
        let rig = WatchRig(serving: FakeServing(writeNanoseconds: Self.writeNanoseconds))
        #expect(Self.deliver(rig, to: count, seconds: 2) == 200)
    }

    @Test func `a client that does not read delays no round of others for long`() {
        let rig = WatchRig(serving: FakeServing(writeNanoseconds: Self.writeNanoseconds))
        let stuck = rig.open(.now(0))
        let live = rig.open(.now(0))
        rig.run()
        stuck.stopReading()
        var latest: UInt64 = 0
        for _ in 0..<20 {
            _ = live.take()
            rig.commit(increment: ["a"])
            latest = max(latest, Self.delay(rig, live))
        }
        #expect(latest <= 3 * WatchPace.roundNanoseconds)
    }

    /// Each commit is 60 MB for all of them, which is more than their share can send.
    @Test(arguments: [2, 4] as [UInt64])
    func `long pieces for many watchers are sent within their share, and all arrive`(
        byteNanoseconds: UInt64
    ) {
        let serving = FakeServing(byteNanoseconds: byteNanoseconds, isBusy: true)
        let rig = WatchRig(serving: serving)
        let streams = (0..<200).map { _ in rig.open(.prefixed("a"), .now(0)) }
        let other = rig.open(.named("b"), .now(0))
        rig.run()
        let value = "\"\(String(repeating: "v", count: 300_000))\""
        let start = rig.now
        let commitCount = 10
        var latest: UInt64 = 0
        for _ in 0..<commitCount {
            _ = other.take()
            let begin = rig.now
            rig.put("a", value)
            rig.put("b", "1")
            latest = max(latest, Self.delay(rig, other))
            Self.run(rig, until: begin + 100 * Self.milliseconds)
            for stream in streams { _ = stream.take() }
        }
        // Rounds and slices have a share each, and a rest is bounded.
        let turn = Double(UInt64(WatchPace.byteCountMax) * byteNanoseconds)
        let rest = min(Double(WatchTurns.share) * turn, Double(WatchPace.restNanosecondsMax))
        let share = turn / (turn + rest)
        #expect(Double(serving.work) <= 2 * (Double(rig.now - start) * share + 4 * turn))
        #expect(latest <= 250 * Self.milliseconds, "another group is not delayed")
        rig.run()
        #expect(rig.counters.events.value == UInt64((streams.count + 1) * commitCount))
    }

    /// The history holds the commits of 100 ms, and this many watchers would allow longer rests.
    @Test func `watchers that read keep their places, however fast the history passes`() {
        let rig = WatchRig(
            historyByteCount: 26_268,
            serving: FakeServing(writeNanoseconds: Self.writeNanoseconds, isBusy: true)
        )
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
        #expect(rig.answers.byteCount == 0, "nothing is kept after the last of them")
    }

    @Test func `a piece is made again once more has gathered after it, unless it is whole`() {
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
