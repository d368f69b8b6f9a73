import CLatchkeySystem

/// Work that takes time and cannot be optimised away: multiply-adds that each depend on the one
/// before.
///
/// `value = value * multiplier + addend`, `steps` times, in 64 bits. Both constants come from the
/// run's seed: the compiler cannot know them, and so can neither fold several steps into one nor
/// find the result without doing the work. With the number of steps, ``jump(_:steps:)`` gives the
/// same result in logarithmic time: so the runner checks that no step was lost.
@usableFromInline
struct Work: Sendable, Equatable {
    @usableFromInline let multiplier: UInt64
    @usableFromInline let addend: UInt64

    init(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        // The full period of a linear congruential generator: no value comes twice.
        multiplier = random.next() & ~7 | 5
        addend = random.next() | 1
    }

    private init(multiplier: UInt64, addend: UInt64) {
        self.multiplier = multiplier
        self.addend = addend
    }

    /// Does the work.
    @inlinable
    @inline(__always)
    func run(_ value: UInt64, steps: Int) -> UInt64 {
        var value = value
        for _ in 0..<steps {
            value = value &* multiplier &+ addend
        }
        return value
    }

    /// The result of `run` for this many steps, without doing them.
    func jump(_ value: UInt64, steps: UInt64) -> UInt64 {
        var all = Work(multiplier: 1, addend: 0)
        var power = self
        var steps = steps
        while steps > 0 {
            if steps & 1 == 1 {
                all = power.after(all)
            }
            power = power.after(power)
            steps >>= 1
        }
        return value &* all.multiplier &+ all.addend
    }

    /// One step that does what `first` and then `self` do.
    private func after(_ first: Work) -> Work {
        Work(
            multiplier: first.multiplier &* multiplier,
            addend: first.addend &* multiplier &+ addend
        )
    }
}

/// The duration of a step on this machine, which turns nanoseconds into steps.
struct WorkCalibration: Sendable, Equatable {
    let stepNanoseconds: Double

    /// Measures for half a millisecond.
    ///
    /// The median of several rounds: the least one would belong to the highest clock of the
    /// processor, which it does not keep.
    static func measure(_ work: Work) -> WorkCalibration {
        let steps = 20_000
        var value: UInt64 = 1
        let rounds = (0..<17).map { _ in
            let start = latchkey_system_nanoseconds()
            value = work.run(value, steps: steps)
            return Double(latchkey_system_nanoseconds() &- start) / Double(steps)
        }
        Sink.keep(value)
        return WorkCalibration(stepNanoseconds: max(0.01, Statistics.median(rounds)))
    }

    func steps(nanoseconds: Int) -> Int {
        Int((Double(nanoseconds) / stepNanoseconds).rounded())
    }
}

/// A sink for unused results, so that the compiler must compute them.
@usableFromInline
enum Sink {
    @usableFromInline @inline(never) @_optimize(none)
    static func keep(_ value: UInt64) {}
}
