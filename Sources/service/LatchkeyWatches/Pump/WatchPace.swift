internal import LatchkeyStore

/// How much of the machine the watches take: when the pump has its next turn.
///
/// **Design.** The pump itself does little: what it writes costs the threads that serve a `send`
/// for each stream, and a copy of the bytes. These threads also serve everyone else. So the pump
/// counts what it hands them, and rests in proportion. While it rests, commits gather, and the next
/// round sends more of them in one piece: many watchers cost a rate of pieces, not of commits.
///
/// Live watchers have rounds, and those that catch up have slices, each with a rest of its own. A
/// round is never put off because of a slice. The machine is not asked how busy it is: a writer
/// that is starved makes few commits, as one does that has little to say.
struct WatchPace {
    /// The least time between two rounds.
    ///
    /// It bounds the rounds of a busy store, so that several commits are sent in one piece and a
    /// writer rarely has to wake the pump. After a quiet time the first commit is sent at once.
    static let roundNanoseconds: UInt64 = 2_000_000
    /// The greatest time between two rounds, however many watchers there are.
    static let restNanosecondsMax: UInt64 = 200_000_000
    /// How long those that catch up have the pump, before a round can follow.
    static let sliceNanoseconds: UInt64 = 2_000_000
    /// What a write to one stream costs the threads that serve: about a `send`, and a wake-up.
    static let writeNanoseconds: UInt64 = 10_000
    /// What a byte costs them, which they copy to the library, and from there to the kernel.
    static let byteNanoseconds: UInt64 = 2
    /// What it costs as long as the kernel takes new memory for it.
    static let newByteNanoseconds: UInt64 = 8
    /// How many bytes of a stream are in new memory.
    ///
    /// A client that does not read is never sent more. That of one which reads is used again.
    static let newByteCountMax = 256 * 1024
    /// The time between two looks at the history while the pump rests.
    static let lookNanoseconds: UInt64 = 20_000_000
    /// The pump rests for one part in this many of the time until the history passes a place.
    static let marginDivisor: UInt64 = 4
    /// One part of the processors in this many is for watches.
    static let share: UInt64 = 4

    /// How many watchers of the same are sent everything in the round.
    static let smallGroupCountMax = 64

    /// What was written.
    struct Work: Hashable {
        var writeCount: UInt64 = 0
        var byteCount: UInt64 = 0
        var newByteCount: UInt64 = 0

        /// Adds a write of so many bytes behind those that the stream has taken before.
        mutating func add(_ count: Int, behind sentCount: Int) {
            writeCount += 1
            if sentCount < WatchPace.newByteCountMax {
                newByteCount += UInt64(count)
            } else {
                byteCount += UInt64(count)
            }
        }

        /// The processor time that it costs.
        var nanoseconds: UInt64 {
            writeCount * WatchPace.writeNanoseconds + byteCount * WatchPace.byteNanoseconds
                + newByteCount * WatchPace.newByteNanoseconds
        }
    }

    private let processorCount: UInt64
    private var passing = HistoryPassing()
    /// When live watchers may be sent more.
    private(set) var nextRound: UInt64 = 0
    /// When those that catch up may be.
    private(set) var nextSlice: UInt64 = 0
    /// What was written since the last rest began.
    var work = Work()

    init(processorCount: Int) {
        self.processorCount = UInt64(max(1, processorCount))
    }

    /// Whether a round or a slice has handed out as much as the greatest rest pays for.
    var isExhausted: Bool {
        work.nanoseconds * Self.share / processorCount >= Self.restNanosecondsMax
    }

    /// Ends a rest before the history passes a place.
    ///
    /// - Parameters:
    ///   - oldest: The lowest revision behind which the history holds all commits.
    ///   - live: The place of the live watchers.
    ///   - behind: The place of the next one of those that catch up.
    ///   - now: The time.
    mutating func hurry(oldest: Revision, live: Revision, behind: Revision?, _ now: UInt64) {
        passing.note(oldest, now)
        if let time = passing.time(until: live) {
            nextRound = min(nextRound, now + max(time / Self.marginDivisor, Self.roundNanoseconds))
        }
        if let behind, let time = passing.time(until: behind) {
            nextSlice = min(nextSlice, now + time / Self.marginDivisor)
        }
    }

    /// Lets the next round begin at once.
    mutating func hurry() {
        nextRound = 0
    }

    /// A round from `start` to `end` is over.
    mutating func endRound(_ start: UInt64, _ end: UInt64) {
        let rest = max(rest(start, end), Self.roundNanoseconds)
        nextRound = start + min(rest, Self.restNanosecondsMax)
    }

    /// A slice from `start` to `end` is over.
    mutating func endSlice(_ start: UInt64, _ end: UInt64) {
        nextSlice = start + min(rest(start, end), Self.restNanosecondsMax)
    }

    /// The time from the start of this work to that of the next: as long as the work is its share.
    private mutating func rest(_ start: UInt64, _ end: UInt64) -> UInt64 {
        defer { work = Work() }
        return max(work.nanoseconds * Self.share / processorCount, 2 * (end - start))
    }
}
