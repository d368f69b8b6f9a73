/// The turns of one kind that the pump has, and the rests between them.
///
/// A turn begins, and is handed out. It is over once the kernel has all bytes of it. Clients that
/// do not read are not waited for: once half of the time since its start has passed without a
/// stream that has sent its bytes, a turn is over, too, and after the time of the maximum rest.
struct WatchTurns {
    /// The kinds, as marks of the streams.
    enum Kind: UInt32 {
        case round = 1
        case slice
    }

    /// A rest is so many times as long as the turn, if other work uses the processors.
    static let share: UInt64 = 5
    /// Else it is the turn divided by this: a rest is needed to notice other work.
    static let idleDivisor: UInt64 = 4
    /// The minimum part of the processors that counts as use by other work.
    static let useMin = 0.1
    /// The weight of a rest once the next one is over.
    static let fading = 0.75

    let unsent: UnsentStreams
    private let restMin: UInt64
    private let processorCount: Double
    /// When the next turn may begin.
    private(set) var next: UInt64 = 0
    /// How many bytes this turn has handed out.
    private var byteCount = 0
    /// Whether a turn is not over.
    private var isUnsent = false
    private var start: UInt64 = 0
    /// When the streams that are left are counted again, and how many there were the last time.
    private var look: UInt64 = 0
    private var leftCount = 0
    /// When the last turn was over, and the processor time then.
    private var over: (time: UInt64, processor: UInt64)?
    /// The length of the last rests, and the processor time that the process used in them.
    private var rested = (time: 0.0, processor: 0.0)

    /// - Parameters:
    ///   - unsent: Counts down when a stream has sent its bytes.
    ///   - restMin: The minimum time from the start of a turn to the next.
    ///   - processorCount: The processors that the process can use.
    init(_ unsent: UnsentStreams, restMin: UInt64, _ processorCount: Int) {
        self.unsent = unsent
        self.restMin = restMin
        self.processorCount = Double(max(1, processorCount))
    }

    /// Whether a turn has handed out as much as it may.
    var isExhausted: Bool { byteCount >= WatchPace.byteCountMax }

    /// The time when ``see(_:)`` is needed, if no stream tells anything before.
    var nextLook: UInt64? { isUnsent ? look : nil }

    /// A turn begins.
    mutating func begin(_ now: UInt64, _ processor: UInt64) {
        if let over, now > over.time {
            let time = Double(now - over.time)
            // A long quiet time counts as a rest, too, and as no more.
            let part = min(1, Double(WatchPace.restNanosecondsMax) / time)
            rested.time = rested.time * Self.fading + time * part
            rested.processor *= Self.fading
            rested.processor += Double(max(processor, over.processor) - over.processor) * part
        }
        over = nil
        start = now
        next = .max
        byteCount = 0
        isUnsent = true
        look = now + WatchPace.roundNanoseconds
        leftCount = .max
        unsent.begin()
    }

    /// So many bytes were written to a stream, which may tell when the kernel has them.
    mutating func note(_ count: Int, isAwaited: Bool) {
        byteCount += count
        if isAwaited {
            unsent.add()
        }
    }

    /// Everything of the turn is written.
    func handOut() {
        _ = unsent.sent()
    }

    /// Sees whether the turn is over.
    ///
    /// - Parameters:
    ///   - clocks: The clocks.
    ///   - left: How many streams of all turns have not sent their bytes: while those of other
    ///     turns are sent, these may come later.
    mutating func see(_ clocks: WatchClocks, left: Int) {
        guard isUnsent else { return }
        let now = clocks.nanoseconds()
        let isLate = now >= start + WatchPace.restNanosecondsMax
        guard unsent.areSent || isLate || now >= look && left == leftCount else {
            if now >= look {
                leftCount = left
                look = start + min(2 * (now - start), WatchPace.restNanosecondsMax)
            }
            return
        }
        isUnsent = false
        over = (now, clocks.processorNanoseconds())
        let isShared = rested.processor > Self.useMin * rested.time * processorCount
        let took = now - start
        let rest = isShared ? took * Self.share : took / Self.idleDivisor
        hurry(max(now + min(rest, WatchPace.restNanosecondsMax), start + restMin))
    }

    /// Lets the next turn begin at this time, if that is earlier, even if this one is not over.
    mutating func hurry(_ time: UInt64) {
        next = min(next, time)
    }
}
