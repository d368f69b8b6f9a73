internal import LatchkeyStore

/// The part of the machine that the watches take: it decides when the pump has its next turn.
///
/// **Design.** The pump itself does little: its writes cost the serving threads a `send` for each
/// stream, and a copy of the bytes. These threads also serve all other requests. So a turn is over
/// when they have sent all of it, and the pump rests in proportion to the time that this took.
/// While it rests, commits gather, and the next round sends more of them in one piece: many
/// watchers cost a rate of pieces, not of commits.
///
/// The rest is for other work, so it is long if other work has used the last ones: a service that
/// is idle except for its watches has short ones. The measure is the processor time of the process
/// during a rest: so a writer is not starved, and uses what it needs.
///
/// Live watchers have rounds, and those that catch up have slices, each with rests of their own. A
/// round does not wait for a slice. But the work of slices counts as other work for rounds, and the
/// other way round: while clients catch up, rests are long.
struct WatchPace {
    /// The minimum time between two rounds.
    ///
    /// It limits the rounds of a busy store, so that several commits are sent in one piece and a
    /// writer rarely has to wake the pump. After a quiet time the first commit is sent at once.
    static let roundNanoseconds: UInt64 = 2_000_000
    /// The maximum rest, however many watchers there are.
    static let restNanosecondsMax: UInt64 = 150_000_000
    /// The time that catching up has the pump, before a round can follow.
    static let sliceNanoseconds: UInt64 = 2_000_000
    /// The bytes that a turn hands out, before it leaves the rest to a slice.
    static let byteCountMax = 8 << 20
    /// The time between two looks at the history while the pump rests.
    static let lookNanoseconds: UInt64 = 20_000_000
    /// The pump rests for one part in this many of the time until the history passes a place.
    static let marginDivisor: UInt64 = 4

    /// A group of at most so many watchers is always sent everything in the round.
    static let smallGroupCountMax = 64

    /// For live watchers.
    var rounds: WatchTurns
    /// For watchers that catch up.
    var slices: WatchTurns
    private var passing = HistoryPassing()

    init(processorCount: Int, _ unsent: UnsentStreams.Pair) {
        rounds = WatchTurns(unsent.rounds, restMin: Self.roundNanoseconds, processorCount)
        slices = WatchTurns(unsent.slices, restMin: 0, processorCount)
    }

    subscript(kind: WatchTurns.Kind) -> WatchTurns {
        get { kind == .round ? rounds : slices }
        _modify {
            if kind == .round { yield &rounds } else { yield &slices }
        }
    }

    /// Sees which turns are over.
    mutating func see(_ clocks: WatchClocks) {
        let left = rounds.unsent.count + slices.unsent.count
        rounds.see(clocks, left: left)
        slices.see(clocks, left: left)
    }

    /// Ends a rest before the history passes a place.
    ///
    /// - Parameters:
    ///   - oldest: The lowest revision after which the history holds all commits.
    ///   - live: The place of the live watchers.
    ///   - behind: The place of the next watcher that catches up.
    ///   - now: The time.
    mutating func hurry(oldest: Revision, live: Revision, behind: Revision?, _ now: UInt64) {
        passing.note(oldest, now)
        if let time = passing.time(until: live) {
            rounds.hurry(now + max(time / Self.marginDivisor, Self.roundNanoseconds))
        }
        if let behind, let time = passing.time(until: behind) {
            slices.hurry(now + time / Self.marginDivisor)
        }
    }
}

/// A clock of the time, and one of the processor time that the process has taken.
struct WatchClocks {
    let nanoseconds: () -> UInt64
    let processorNanoseconds: () -> UInt64
}
