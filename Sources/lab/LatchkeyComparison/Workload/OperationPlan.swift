import Foundation
import LatchkeyTrace

/// One operation of a plan: a key, as its stripe and its place there, and whether it writes.
@usableFromInline
struct PlannedOperation: Sendable, Equatable {
    @usableFromInline let bits: UInt32

    init(key: Int, stripes: Int, isWrite: Bool) {
        let place = UInt32(key / stripes) << 11 | UInt32(key % stripes) << 1
        bits = place | (isWrite ? 1 : 0)
    }

    @inlinable var isWrite: Bool { bits & 1 == 1 }
    @inlinable var stripe: Int { Int(bits >> 1 & 0x3FF) }
    @inlinable var slot: Int { Int(bits >> 11) }

    func key(stripes: Int) -> Int { slot * stripes + stripe }
}

/// The operations of one thread, which it repeats.
///
/// Drawn before the run, so that the timed path contains neither a random number nor a logarithm,
/// and so that the number of a thread's operations tells which ones it did.
struct OperationPlan: Sendable {
    let operations: [PlannedOperation]
    /// In a trace: when each operation is due, in nanoseconds from the beginning.
    private var due: [UInt64] = []
    /// In a trace: the time after which it begins again.
    private var periodNanoseconds: UInt64 = 0

    /// Enough for rare operations to have their share, but drawing them must not take longer than
    /// doing them: a plan is 16 to 256 kB, and is read from end to end.
    static let lengths = 4_096...65_536

    /// One operation if all are the same, else as many as there are keys, so that most of them are
    /// used, within the limits.
    static func length(_ workload: ComparisonReport.Workload) -> Int {
        if workload.keys == 1 && [0, 1].contains(workload.readRatio) {
            return 1
        }
        return min(max(workload.keys, lengths.lowerBound), lengths.upperBound)
    }

    init(_ workload: ComparisonReport.Workload, seed: UInt64) {
        let keys = KeyDistribution(count: workload.keys, skew: workload.skew)
        self.init(workload, keys: keys, seed: seed)
    }

    /// - Parameters:
    ///   - workload: The workload to draw from.
    ///   - keys: The workload's, made once for all threads and slices.
    ///   - seed: The seed of the random numbers.
    init(_ workload: ComparisonReport.Workload, keys: KeyDistribution, seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let length = Self.length(workload)
        // Exactly as many writes as the ratio asks for, or the next possible number, at random
        // places: with a few thousand operations a drawn number would be off by some percent.
        let exact = Double(length) * (1 - workload.readRatio)
        let isBetween = workload.readRatio > 0 && workload.readRatio < 1
        let writes = isBetween ? min(length - 1, max(1, Int(exact.rounded()))) : Int(exact)
        var isWrite = (0..<length).map { $0 < writes }
        isWrite.shuffle(using: &random)
        operations = isWrite.map {
            PlannedOperation(
                key: keys.draw(&random),
                stripes: workload.stripes,
                isWrite: $0
            )
        }
    }

    /// The part of a trace that one of several threads does: each does the next operation in turn.
    init(_ trace: ReplayedTrace, _ thread: Int, of threads: Int, stripes: Int) {
        let own = stride(from: thread, to: trace.operations.count, by: threads)
        operations = own.map { index in
            let operation = trace.operations[index]
            return PlannedOperation(
                key: operation.key,
                stripes: stripes,
                isWrite: operation.kind.isWrite
            )
        }
        due = own.map { trace.operations[$0].dueNanoseconds }
        periodNanoseconds = trace.periodNanoseconds
    }

    /// When the operation at a position is due; after the end the trace begins again.
    func dueNanoseconds(_ position: Int) -> UInt64 {
        guard !due.isEmpty else { return 0 }
        let (round, index) = position.quotientAndRemainder(dividingBy: due.count)
        return UInt64(round) * periodNanoseconds + due[index]
    }

    /// The number of writes among the first `count` operations.
    func writeCount(among count: Int) -> Int {
        guard !operations.isEmpty else { return 0 }
        let (rounds, rest) = count.quotientAndRemainder(dividingBy: operations.count)
        return rounds * operations.count(where: \.isWrite)
            + operations.prefix(rest).count(where: \.isWrite)
    }

    /// Adds how often each key is written by the first `count` operations.
    func addWrites(among count: Int, stripes: Int, to writes: inout [UInt64]) {
        guard !operations.isEmpty else { return }
        let (rounds, rest) = count.quotientAndRemainder(dividingBy: operations.count)
        for (index, operation) in operations.enumerated() where operation.isWrite {
            let times = rounds + (index < rest ? 1 : 0)
            writes[operation.key(stripes: stripes)] += UInt64(times)
        }
    }
}

/// Draws keys: all equally likely, or the first ones more often.
struct KeyDistribution: Sendable {
    /// The chance that a key or one before it is drawn.
    ///
    /// Empty where all are equally likely.
    private let cumulative: [Double]
    private let count: Int

    init(count: Int, skew: KeySkew) {
        self.count = count
        guard case .zipf(let exponent) = skew else {
            cumulative = []
            return
        }
        var sum = 0.0
        let sums = (1...count).map { rank in
            sum += 1 / pow(Double(rank), exponent)
            return sum
        }
        cumulative = sums.map { $0 / sum }
    }

    func draw(_ random: inout SeededRandom) -> Int {
        guard !cumulative.isEmpty else {
            return Int.random(in: 0..<count, using: &random)
        }
        let chance = Double.random(in: 0..<1, using: &random)
        var low = 0
        var high = count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulative[middle] > chance {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return low
    }
}
