import Testing

@testable import LatchkeyWatches

/// When turns of the pump are over, and how long the rests are, by clocks that the test sets.
@Suite(.timeLimit(.minutes(5)))
struct WatchTurnsTests {
    private static let milliseconds: UInt64 = 1_000_000

    /// Turns on two processors, and the clocks.
    private final class Bench {
        let unsent = UnsentStreams()
        var turns: WatchTurns
        var now: UInt64 = 1_000_000_000
        var processor: UInt64 = 0

        init() {
            turns = WatchTurns(unsent, restMin: WatchPace.roundNanoseconds, 2)
        }

        var clocks: WatchClocks {
            WatchClocks(nanoseconds: { self.now }, processorNanoseconds: { self.processor })
        }

        /// Begins a turn that writes to this many streams.
        func begin(_ count: Int) {
            turns.begin(now, processor)
            for _ in 0..<count { unsent.add() }
            turns.handOut()
            see()
        }

        func see(others: Int = 0) {
            turns.see(clocks, left: unsent.count + others)
        }

        /// This many of them have sent their bytes; returns whether one was the last.
        func send(_ count: Int) -> Bool {
            let told = (0..<count).map { _ in unsent.sent() }
            see()
            return told.contains(true)
        }

        /// Runs a turn of this time, and its rest, in which others use this share of the
        /// processors.
        func turn(_ nanoseconds: UInt64, use: Double) -> (rest: UInt64, next: UInt64) {
            begin(1)
            let start = now
            now += nanoseconds
            _ = send(1)
            let end = now
            now = max(now + 1, turns.next)
            processor += UInt64(Double(2 * (now - end)) * use)
            return (turns.next - end, turns.next - start)
        }
    }

    @Test func `a turn is over when the last stream has sent its bytes`() {
        let bench = Bench()
        let start = bench.now
        bench.begin(3)
        #expect(bench.turns.next == .max)
        bench.now += Self.milliseconds
        #expect(!bench.send(2))
        #expect(bench.turns.next == .max)
        bench.now += 7 * Self.milliseconds
        #expect(bench.send(1), "the pump is told")
        #expect(bench.turns.next == start + 10 * Self.milliseconds)
        #expect(bench.turns.nextLook == nil)
    }

    @Test func `a turn of which all is sent while it is written is over at once`() {
        let bench = Bench()
        bench.begin(0)
        #expect(bench.turns.next == bench.now + WatchPace.roundNanoseconds)
    }

    @Test func `a rest is long if others use the processors, and short if not`() {
        let bench = Bench()
        let took = 10 * Self.milliseconds
        for use in [0, 1, WatchTurns.useMin / 2, WatchTurns.useMin * 2] {
            for _ in 0..<15 { _ = bench.turn(took, use: use) }
            let rest = use < WatchTurns.useMin ? took / 4 : took * WatchTurns.share
            #expect(bench.turn(took, use: use).rest == rest)
        }
    }

    /// The clock of the processors also shows work that threads finish after a turn.
    @Test func `others are seen within three rests, and one that is busier changes nothing`() {
        let bench = Bench()
        let took = 10 * Self.milliseconds
        for _ in 0..<5 { _ = bench.turn(took, use: 0.02) }
        _ = bench.turn(took, use: 0.25)
        #expect(bench.turn(took, use: 0.02).rest == took / 4)
        for _ in 0..<3 { _ = bench.turn(took, use: 0.5) }
        #expect(bench.turn(took, use: 0.02).rest == took * WatchTurns.share)
    }

    @Test func `a quiet time does not hide what comes later`() {
        let bench = Bench()
        let took = 10 * Self.milliseconds
        _ = bench.turn(took, use: 0)
        bench.now += 3_600_000_000_000
        for _ in 0..<10 { _ = bench.turn(took, use: 0.5) }
        #expect(bench.turn(took, use: 0.5).rest == took * WatchTurns.share)
    }

    @Test func `a rest has a least and a greatest length`() {
        let bench = Bench()
        #expect(bench.turn(1000, use: 1).next == WatchPace.roundNanoseconds)
        for _ in 0..<5 { _ = bench.turn(1000, use: 1) }
        #expect(bench.turn(1_000_000_000, use: 1).rest == WatchPace.restNanosecondsMax)
    }

    @Test func `clients that do not read are waited for as long again as the others took`() throws {
        let bench = Bench()
        let start = bench.now
        bench.begin(100)
        bench.now += 7 * Self.milliseconds
        #expect(!bench.send(90))
        while let look = bench.turns.nextLook {
            bench.now = look
            bench.see()
        }
        #expect(bench.now > start + 7 * Self.milliseconds)
        #expect(bench.now <= start + 4 * 7 * Self.milliseconds)
    }

    @Test func `a turn waits while those of others are sent, for a bounded time`() {
        let bench = Bench()
        let start = bench.now
        bench.begin(1)
        var others = 1000
        while let look = bench.turns.nextLook {
            others -= 1
            bench.now = look
            bench.see(others: others)
        }
        #expect(bench.now == start + WatchPace.restNanosecondsMax)
    }

    @Test func `streams that earlier turns have left make no difference`() {
        let bench = Bench()
        bench.begin(5)
        while let look = bench.turns.nextLook {
            bench.now = look
            bench.see()
        }
        bench.now += Self.milliseconds
        bench.begin(2)
        #expect(!bench.send(1))
        #expect(bench.turns.nextLook != nil)
        #expect(bench.send(1))
        #expect(bench.turns.nextLook == nil)
        #expect(!bench.send(5), "nothing is told when they go on")
    }

    @Test func `a turn can be hurried before it is over`() {
        let bench = Bench()
        bench.begin(1)
        bench.turns.hurry(bench.now + 3)
        #expect(bench.turns.next == bench.now + 3)
        bench.now += Self.milliseconds
        _ = bench.send(1)
        #expect(bench.turns.next == bench.now + 3 - Self.milliseconds)
    }
}
