internal import LatchkeyComparison

extension WorkloadText {
    /// How one situation differs from the others of its run: `on 1 thread`, or
    /// `with 95 % reads on 2 to 8 threads`; without the threads if these are all of the run.
    ///
    /// `leastThreads` is where the range of threads begins that ends at this one.
    static func difference(
        of situation: Ranking.Situation,
        among situations: [Ranking.Situation],
        from leastThreads: Int? = nil
    ) -> String {
        let workload = difference(of: situation.workload, among: situations)
        let least = leastThreads ?? situation.threads
        let range = least == situation.threads ? "" : "\(least) to "
        let threads = threads(situation.threads, situation.workload, from: range)
        guard !workload.isEmpty else { return threads }
        let counts = situations.map(\.threads)
        let isWhole = counts.min() == least && counts.max() == situation.threads
        return isWhole ? workload : workload + " " + threads
    }

    /// How one workload differs from the others of its run: `with 95 % reads`, or nothing.
    static func difference(
        of workload: Workload,
        among situations: [Ranking.Situation]
    ) -> String {
        let workloads = situations.map(\.workload).uniqued().map(\.dimensions)
        let varied = workload.dimensions.enumerated().filter { index, _ in
            workloads.map { $0[index].value }.uniqued().count > 1
        }
        guard !varied.isEmpty else { return "" }
        return "with " + varied.map(\.element.clause).joined(separator: ", ")
    }
}
