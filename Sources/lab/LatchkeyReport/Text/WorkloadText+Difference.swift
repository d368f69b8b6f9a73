internal import LatchkeyComparison

extension WorkloadText {
    /// How one workload differs from the others of its run: `with 95 % reads`, or nothing.
    static func difference(of workload: Workload, among workloads: [Workload]) -> String {
        let all = workloads.map(\.dimensions)
        let varied = workload.dimensions.enumerated().filter { index, _ in
            all.map { $0[index].value }.uniqued().count > 1
        }
        guard !varied.isEmpty else { return "" }
        return "with " + varied.map(\.element.clause).joined(separator: ", ")
    }
}
