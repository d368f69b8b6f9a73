internal import LatchkeyComparison
internal import LatchkeyVerdict

/// How far apart the processors were, in words.
extension ComparisonReport {
    /// Among the facts about the machine: `cache line 57 ns`.
    var cacheLineFact: String? {
        fingerprint.cacheLine?.averageNanoseconds.map {
            "cache line \(FigureText.duration(nanoseconds: $0))"
        }
    }

    /// In sentences; empty for a report of an earlier version.
    var cacheLineText: String {
        guard let line = fingerprint.cacheLine else { return "" }
        guard let average = line.averageNanoseconds else {
            return "The way of a cache line between processors was not measured. "
                + (line.missingBecause ?? "")
        }
        return "A cache line took \(FigureText.duration(nanoseconds: average)) from one processor "
            + "to another and back, on average." + leftOutText
    }

    /// The number of repeats in which that jumped.
    private var leftOutText: String {
        let left = cases.flatMap(\.repeats).count { $0.isLeftOut == true }
        guard left > 0 else { return "" }
        return " \(FigureText.counted(left, "repeat")) in which it jumped "
            + "\(left == 1 ? "is" : "are") left out."
    }
}
