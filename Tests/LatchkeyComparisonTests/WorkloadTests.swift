import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison

@Suite struct WorkloadTests {
    @Test(arguments: [0, 1, 2, 7, 1_000, 12_345])
    func `the result of the work is known without doing it`(steps: Int) {
        let work = Work(seed: 3)
        #expect(work.run(17, steps: steps) == work.jump(17, steps: UInt64(steps)))
    }

    @Test func `a step more or less has another result`() {
        let work = Work(seed: 3)
        #expect(work.run(17, steps: 100) != work.jump(17, steps: 99))
        #expect(work.run(17, steps: 100) != work.jump(17, steps: 101))
    }

    @Test(arguments: [0, 0.001, 0.25, 0.5, 0.95, 0.999, 1])
    func `a plan has the share of writes that was asked for`(readRatio: Double) {
        let plan = OperationPlan(workload(readRatio: readRatio, keys: 8), seed: 1)
        let writes = Double(plan.operations.count(where: \.isWrite))
        let expected = Double(OperationPlan.lengths.lowerBound) * (1 - readRatio)
        #expect(abs(writes - expected) <= 0.5)
    }

    @Test func `a rare write is in the plan all the same`() {
        let plan = OperationPlan(workload(readRatio: 0.999_999), seed: 1)
        #expect(plan.operations.count(where: \.isWrite) == 1)
    }

    @Test func `a plan of equal operations is one operation`() {
        #expect(OperationPlan(workload(readRatio: 0), seed: 1).operations.count == 1)
        #expect(OperationPlan(workload(readRatio: 1), seed: 1).operations.count == 1)
    }

    @Test func `the same seed gives the same plan and another one another`() {
        let first = OperationPlan(workload(keys: 100), seed: 1)
        #expect(first.operations == OperationPlan(workload(keys: 100), seed: 1).operations)
        #expect(first.operations != OperationPlan(workload(keys: 100), seed: 2).operations)
    }

    @Test func `keys survive being put into stripes`() {
        for key in [0, 1, 5, 1_023, 1_048_575] {
            for stripes in [1, 4, 1_024] {
                let operation = PlannedOperation(key: key, stripes: stripes, isWrite: true)
                #expect(operation.key(stripes: stripes) == key)
                #expect(operation.stripe < stripes)
                #expect(operation.isWrite)
            }
        }
    }

    @Test func `writes are counted by key over whole and broken rounds`() {
        let workload = workload(readRatio: 0.5, keys: 10)
        let plan = OperationPlan(workload, seed: 5)
        let count = 2 * plan.operations.count + 1_000
        var expected = [UInt64](repeating: 0, count: 10)
        for index in 0..<count {
            let operation = plan.operations[index % plan.operations.count]
            if operation.isWrite {
                expected[operation.key(stripes: 1)] += 1
            }
        }
        var writes = [UInt64](repeating: 0, count: 10)
        plan.addWrites(among: count, stripes: 1, to: &writes)
        #expect(writes == expected)
        // They are added to what another thread's plan wrote.
        plan.addWrites(among: count, stripes: 1, to: &writes)
        #expect(writes == expected.map { 2 * $0 })
    }

    @Test func `a plan has room for most of many keys, up to a bound`() {
        let plan = OperationPlan(workload(keys: 20_000), seed: 1)
        #expect(plan.operations.count == 20_000)
        let used = Set(plan.operations.map { $0.key(stripes: 1) }).count
        // Of uniform draws 1 - 1/e differ.
        #expect((12_200...13_100).contains(used))
        #expect(OperationPlan.length(workload(keys: 1 << 20)) == 65_536)
    }

    @Test func `uniform keys are drawn equally often`() {
        let counts = draw(KeyDistribution(count: 10, skew: .uniform), count: 10, times: 100_000)
        #expect(counts.allSatisfy { (9_400...10_600).contains($0) })
    }

    @Test func `Zipf keys are drawn in proportion to their rank's power`() {
        let keys = KeyDistribution(count: 100, skew: .zipf(exponent: 1))
        let counts = draw(keys, count: 100, times: 200_000)
        // The sum of 1/rank over 100 ranks is 5.187.
        #expect(abs(Double(counts[0]) / 200_000 - 1 / 5.187) < 0.01)
        #expect(abs(Double(counts[0]) / Double(counts[9]) - 10) < 1.5)
    }

    @Test(arguments: ComparisonPreset.allCases)
    func `every preset makes settings that are accepted`(preset: ComparisonPreset) throws {
        var settings = ComparisonSettings()
        preset.apply(to: &settings)
        try settings.validate()
    }

    @Test(arguments: [
        (Change { $0.threads = [0] }, "threads takes whole numbers from 1 to 256, not '0'."),
        (Change { $0.threads = [] }, "threads needs a value."),
        (
            Change { $0.threads = [2, 2] },
            "threads takes ascending numbers, and '2' comes after '2'."
        ),
        (Change { $0.threads = [257] }, "threads takes whole numbers from 1 to 256, not '257'."),
        (Change { $0.stripes = [3] }, "stripes takes powers of two from 1 to 1024, not '3'."),
        (Change { $0.keys = [0] }, "keys takes whole numbers from 1 to 1048576, not '0'."),
        (Change { $0.readRatios = [1.1] }, "read-ratio takes numbers from 0.0 to 1.0, not '1.1'."),
        (Change { $0.repeats = 0 }, "repeats takes a whole number from 1 to 1000, not '0'."),
        (
            Change { $0.durationSeconds = 0 },
            "duration takes a time from 5ms to 60s, such as 200ms, not '0'."
        ),
        (
            Change { $0.sectionNanoseconds = [-1] },
            "section takes whole numbers from 0 to 10000000 nanoseconds, such as 50ns or 10us, "
                + "not '-1'."
        ),
    ])
    func `settings that make no sense are refused with a sentence`(
        change: Change,
        message: String
    ) {
        var settings = ComparisonSettings()
        change.apply(&settings)
        #expect(throws: ComparisonError(message)) { try settings.validate() }
    }

    private func draw(_ keys: KeyDistribution, count: Int, times: Int) -> [Int] {
        var random = SeededRandom(seed: 42)
        var counts = [Int](repeating: 0, count: count)
        for _ in 0..<times { counts[keys.draw(&random)] += 1 }
        return counts
    }
}

/// Something that is done to settings.
struct Change: Sendable {
    let apply: @Sendable (inout ComparisonSettings) -> Void
}

/// A workload of one key, unless something else is said.
func workload(
    readRatio: Double = 0.5,
    section: Int = 20,
    outside: Int = 20,
    keys: Int = 1,
    skew: KeySkew = .uniform,
    stripes: Int = 1
) -> ComparisonReport.Workload {
    ComparisonReport.Workload(
        readRatio: readRatio,
        sectionNanoseconds: section,
        outside: OutsideWork(nanoseconds: outside, scalesWithThreads: false),
        keys: keys,
        skew: skew,
        stripes: stripes,
        arrival: .closed
    )
}
