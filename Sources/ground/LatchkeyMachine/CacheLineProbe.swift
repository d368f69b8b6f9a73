internal import CLatchkeyMachine

/// The time for a cache line to go from one processor to another and back.
///
/// On a virtual machine it has modes: the hypervisor moves the virtual processors, and a round trip
/// between near ones takes a quarter of the time between distant ones. Everything that threads
/// share changes with it, and neither processor time nor steal shows it.
///
/// **Design.** Two threads, each bound to one processor, change a word in turn for
/// ``budgetNanoseconds``. A reading is the median of the batches of round trips, so that an
/// interrupt or another thread on one of the processors does not change it. A reading blocks the
/// caller, which starts it while no thread of the measurement runs.
package struct CacheLineProbe: Sendable {
    /// Two processors, the lower number first.
    package struct Pair: Sendable, Hashable {
        package let first: Int
        package let second: Int

        package init(_ one: Int, _ other: Int) {
            (first, second) = (min(one, other), max(one, other))
        }
    }

    /// How long one pair is measured.
    package static let budgetNanoseconds: UInt64 = 200_000
    /// How long a reading waits for processors that others keep busy.
    package static let patienceNanoseconds: UInt64 = 5_000_000
    /// The most pairs of the matrix: all of eight processors.
    package static let pairsMax = 28
    /// The most pairs of the reading before and after a slice.
    package static let sentinelsMax = 4
    /// Fewer batches are no reading.
    package static let batchesMin = 8
    /// More than fit into the budget.
    private static let batchesMax = 1_024

    /// The pairs of the matrix; none on one processor.
    package let pairs: [Pair]
    /// Those that are read before and after a slice.
    let sentinels: [Pair]
    private let trips: @Sendable (Pair) -> [Float]

    /// - Parameters:
    ///   - processors: The processors that may be used.
    ///   - trips: Returns the nanoseconds of a round trip for each batch of them.
    package init(
        processors: [Int] = ProcessorList.allowed,
        trips: @escaping @Sendable (Pair) -> [Float] = Self.trips
    ) {
        pairs = Self.pairs(of: processors)
        sentinels = Self.spread(pairs, over: Self.sentinelsMax)
        self.trips = trips
    }

    /// The nanoseconds of a round trip between two processors.
    ///
    /// `nil` if others kept them busy, or a thread may not run there.
    package func nanoseconds(_ pair: Pair) -> Double? {
        let batches = trips(pair).filter { $0 > 0 }.sorted()
        return batches.count >= Self.batchesMin ? Double(batches[batches.count / 2]) : nil
    }

    /// The same for the machine as a whole: the median of a few pairs.
    package func nanoseconds() -> Double? {
        let found = sentinels.compactMap { nanoseconds($0) }.sorted()
        return found.isEmpty ? nil : found[found.count / 2]
    }

    /// All pairs of a few processors, and some of many.
    ///
    /// Of many, there are as many pairs for each distance in the list that is a power of two or
    /// half of the list: neighbours, siblings and the two halves are among them.
    static func pairs(of processors: [Int]) -> [Pair] {
        let count = processors.count
        if count * (count - 1) / 2 <= pairsMax {
            return processors.indices.flatMap { one in
                processors[(one + 1)...].map { Pair(processors[one], $0) }
            }
        }
        var distances = [1]
        while let last = distances.last, last * 2 <= count / 2 { distances.append(last * 2) }
        if distances.last != count / 2 { distances.append(count / 2) }
        let share = pairsMax / distances.count
        var found: [Pair] = []
        for distance in distances {
            for index in 0..<share {
                let start = index * count / share
                let pair = Pair(processors[start], processors[(start + distance) % count])
                if !found.contains(pair) { found.append(pair) }
            }
        }
        return found
    }

    private static func spread(_ pairs: [Pair], over count: Int) -> [Pair] {
        let count = min(count, pairs.count)
        return (0..<count).map { pairs[$0 * pairs.count / count] }
    }

    /// Measures on the machine.
    package static let trips: @Sendable (Pair) -> [Float] = { pair in
        unsafe [Float](unsafeUninitializedCapacity: batchesMax) { buffer, count in
            // SAFETY: the function writes at most `batchesMax` numbers and returns how many; its
            // threads have ended then.
            let code = unsafe latchkey_machine_line_trips(
                Int32(pair.first),
                Int32(pair.second),
                budgetNanoseconds,
                patienceNanoseconds,
                buffer.baseAddress,
                Int32(batchesMax)
            )
            count = max(0, Int(code))
        }
    }
}
