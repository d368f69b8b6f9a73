import LatchkeyStrategies

@testable import LatchkeyWatches

/// The serving threads: they give the kernel the bytes of streams, one stream after the other, and
/// that takes planted times.
final class FakeServing: Sendable {
    static let processorCount = 2

    private struct State {
        /// When all written bytes are sent, and the processor time that this takes.
        var end: UInt64 = 0
        var work: UInt64 = 0
        /// When streams have sent the awaited bytes, in order, and the marks that they report then.
        var awaited: [(time: UInt64, mark: UInt32)] = []
        var told = 0
    }

    /// The processor time of a write, and of a byte.
    ///
    /// Without both, all is sent at once.
    private let writeNanoseconds: UInt64
    private let byteNanoseconds: UInt64
    /// Whether others use all processors, if they get them.
    ///
    /// Then streams get half of them.
    private let isBusy: Bool
    let unsent = (rounds: UnsentStreams(), slices: UnsentStreams())
    private let state = Synchronized<State, LockStrategy>(State())

    init(writeNanoseconds: UInt64 = 0, byteNanoseconds: UInt64 = 0, isBusy: Bool = false) {
        self.writeNanoseconds = writeNanoseconds
        self.byteNanoseconds = byteNanoseconds
        self.isBusy = isBusy
    }

    /// How many processors streams have.
    var processorShare: UInt64 { UInt64(Self.processorCount) / (isBusy ? 2 : 1) }

    /// The processor time that streams have taken.
    var work: UInt64 { state.read { $0.work } }

    func processorNanoseconds(_ now: UInt64) -> UInt64 {
        work + (isBusy ? now * UInt64(Self.processorCount) : 0)
    }

    /// Takes bytes of a stream.
    ///
    /// - Returns: When the kernel has them; nil at once.
    func take(_ byteCount: Int, _ now: UInt64) -> UInt64? {
        let cost = writeNanoseconds + UInt64(byteCount) * byteNanoseconds
        guard cost > 0 else {
            return nil
        }
        return state.write { state in
            state.work += cost
            state.end = max(state.end, now) + cost / processorShare
            return state.end
        }
    }

    /// Reports with a mark when the kernel has a stream's bytes; never at the time `.max`.
    func await(_ time: UInt64, _ mark: UInt32) -> Bool {
        if time < .max {
            state.write { $0.awaited.append((time, mark)) }
        }
        return true
    }

    /// Sends until a time, or until all of a turn is sent.
    ///
    /// - Returns: The time then.
    func send(until end: UInt64) -> UInt64 {
        state.write { state in
            while state.told < state.awaited.count, state.awaited[state.told].time <= end {
                let (time, mark) = state.awaited[state.told]
                state.told += 1
                let isRound = mark == WatchTurns.Kind.round.rawValue
                if (isRound ? unsent.rounds : unsent.slices).sent() {
                    return time
                }
            }
            return end
        }
    }
}
