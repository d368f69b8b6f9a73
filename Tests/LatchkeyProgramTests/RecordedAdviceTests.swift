import Testing

@testable import latchkey

/// The advice for a recorded run over HTTP: `ticket`, one stripe, 16 threads, merge patches of an
/// object of 400 members from 32 connections; shadows `ticket`, `lock` and `adaptive`, which got
/// all operations.
///
/// The same services without shadows did 4.8k answers a second with `ticket`, and 11.7k with `lock`
/// (medians of six rounds; a factor of 2.1 within a round).
@Suite struct RecordedAdviceTests {
    /// Of slices of two seconds: the processor time; the operations; then the seconds of waiting at
    /// the lock that serves and at the three shadows, and of holding, which differs little.
    ///
    /// The queue of threads is at one lock for seconds, and then at another.
    private static let rows: [(Double, Double, [Double], Double)] = [
        (1.448, 15_905, [1.770660, 3.597688, 0.008320, 0.429674], 0.149),
        (1.561, 32_150, [0.001334, 4.086274, 0.001254, 0.001148], 0.261),
        (1.677, 29_817, [0.510429, 2.955214, 0.001643, 0.001097], 0.256),
        (1.553, 33_042, [4.058663, 0.001106, 0.001215, 0.001108], 0.257),
        (1.767, 32_878, [3.316328, 0.029594, 0.002830, 0.077096], 0.292),
        (1.489, 30_822, [4.092446, 0.001058, 0.001151, 0.001037], 0.244),
        (1.560, 32_604, [4.159959, 0.001117, 0.001248, 0.001121], 0.256),
        (1.557, 33_210, [4.125236, 0.001148, 0.001240, 0.001141], 0.267),
        (1.554, 33_262, [4.106283, 0.001126, 0.001228, 0.001139], 0.264),
        (1.569, 32_769, [0.963733, 2.500635, 0.001233, 0.001134], 0.266),
    ]

    private func observation(runs: Int) -> Observation {
        let slices = (0..<runs).flatMap { _ in Self.rows }.map { processor, count, waits, hold in
            func use(_ index: Int) -> LockUse {
                LockUse(
                    operations: count,
                    contended: count / 2,
                    wait: .init(count: count, seconds: waits[index]),
                    hold: .init(count: count, seconds: hold),
                    waitBuckets: [1e-4: index > 1 ? count : 0, 1e-2: count, .infinity: count]
                )
            }
            return Observation.Slice(
                serving: use(0),
                shadows: ["ticket": use(1), "lock": use(2), "adaptive": use(3)],
                processorSeconds: processor
            )
        }
        var seen = Observation(strategy: "ticket", seconds: Double(20 * runs), slices: slices)
        seen.isWholeSample = true
        return seen
    }

    @Test func `a minute of a contended lock is enough to say use another one`() throws {
        let advice = Advice(observation(runs: 3))
        #expect(advice.verdict == .switch)
        #expect(advice.switchTo == "lock", "the preferred one of those that save as much")
        #expect(advice.headline.hasPrefix("Use `lock`: it would save "))
        let best = try #require(advice.candidates.first)
        #expect(best.gain > 0.2 && best.gain < 1, "a part of the busy time")
        #expect(best.gainLow > 0.05)
    }

    @Test func `twenty seconds are not, because the queue is elsewhere for most of them`() {
        let advice = Advice(observation(runs: 1))
        #expect(advice.verdict == .undecided)
        #expect(advice.reason.contains("More --seconds tell more"))
    }

    @Test(arguments: [(1, 10), (10, 10), (21, 10), (60, 30), (120, 60), (3600, 60)])
    func `a longer watch has more slices, of two seconds or more`(seconds: Int, count: Int) {
        #expect(AdviseCommand.sliceCount(seconds: seconds) == count)
    }
}
