/// The values that one stripe guards: one for each of its keys.
protocol GuardedValues: Sendable {
    init(count: Int)

    /// Changes a value and returns it.
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64
    func value(_ slot: Int) -> UInt64
}

/// The initial value of every key.
let startValue: UInt64 = 0x5DEE_CE66

/// One value, in place.
struct OneValue: GuardedValues {
    private var value = startValue

    init(count: Int) {}

    @inline(__always)
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        value = work.run(value, steps: steps)
        return value
    }

    @inline(__always)
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        work.run(value, steps: steps)
    }

    func value(_ slot: Int) -> UInt64 { value }
}

/// Values in an array.
///
/// A strategy that copies on writing copies all of them.
struct ManyValues: GuardedValues {
    private var values: [UInt64]

    init(count: Int) {
        values = [UInt64](repeating: startValue, count: count)
    }

    @inline(__always)
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        let left = work.run(values[slot], steps: steps)
        values[slot] = left
        return left
    }

    @inline(__always)
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        work.run(values[slot], steps: steps)
    }

    func value(_ slot: Int) -> UInt64 { values[slot] }
}
