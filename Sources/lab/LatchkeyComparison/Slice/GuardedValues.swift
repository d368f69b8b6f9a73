/// The values that one stripe guards: one for each of its keys.
@usableFromInline
protocol GuardedValues: Sendable {
    /// Whether there can be several stripes of them.
    static var canBeStriped: Bool { get }

    init(count: Int)

    /// Changes a value and returns it.
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64
    func value(_ slot: Int) -> UInt64
}

/// The initial value of every key.
let startValue: UInt64 = 0x5DEE_CE66

/// One value, in place.
@usableFromInline
struct OneValue: GuardedValues {
    @inlinable static var canBeStriped: Bool { false }

    @usableFromInline var value = startValue

    @usableFromInline
    init(count: Int) {}

    @inlinable
    @inline(__always)
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        value = work.run(value, steps: steps)
        return value
    }

    @inlinable
    @inline(__always)
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        work.run(value, steps: steps)
    }

    @usableFromInline
    func value(_ slot: Int) -> UInt64 { value }
}

/// Values in an array.
///
/// A strategy that copies on writing copies all of them.
@usableFromInline
struct ManyValues: GuardedValues {
    @inlinable static var canBeStriped: Bool { true }

    @usableFromInline var values: [UInt64]

    @usableFromInline
    init(count: Int) {
        values = [UInt64](repeating: startValue, count: count)
    }

    @inlinable
    @inline(__always)
    mutating func write(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        let left = work.run(values[slot], steps: steps)
        values[slot] = left
        return left
    }

    @inlinable
    @inline(__always)
    func read(_ slot: Int, work: Work, steps: Int) -> UInt64 {
        work.run(values[slot], steps: steps)
    }

    @usableFromInline
    func value(_ slot: Int) -> UInt64 { values[slot] }
}
