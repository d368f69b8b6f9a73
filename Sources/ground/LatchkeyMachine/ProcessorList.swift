/// The kernel's way to write sets of processors: `0-3,8`.
package enum ProcessorList {
    /// The kernel's own limit.
    static let processorsMax = 8_192

    /// The numbers in ascending order; none if the text is not such a list.
    package static func numbers(_ text: String) -> [Int] {
        var found: Set<Int> = []
        for part in text.split(separator: ",") {
            let ends = part.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
            guard (1...2).contains(ends.count), let first = ends.first ?? nil,
                let last = ends.last ?? nil, first >= 0, first <= last, last < processorsMax
            else { return [] }
            found.formUnion(first...last)
        }
        return found.sorted()
    }

    /// Those that this process may run on; none if the kernel does not say.
    package static var allowed: [Int] {
        numbers(SystemFile.field("Cpus_allowed_list", ":", in: "/proc/self/status") ?? "")
    }
}
