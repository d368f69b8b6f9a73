internal import LatchkeyComparison

/// How far apart the processors were, in words.
extension ComparisonReport {
    /// Among the facts about the machine: `cache line 57 ns`, or with two modes
    /// `cache line 57 or 392 ns`.
    var cacheLineFact: String? {
        guard let line = fingerprint.cacheLine, !line.modes.isEmpty else { return nil }
        return "cache line "
            + line.modes.map { FigureText.duration(nanoseconds: $0.roundTripNanoseconds) }
            .joined(separator: " or ")
    }

    /// In sentences; empty for a report of an earlier version.
    var cacheLineText: String {
        guard let line = fingerprint.cacheLine else { return "" }
        if let reason = line.missingBecause {
            return "The way of a cache line between processors was not measured. " + reason
        }
        return ([line.modesText] + [line.pairsText, usualText, changedText]).filter { !$0.isEmpty }
            .joined(separator: " ")
    }

    /// Of which mode the throughput is.
    package var usualText: String {
        guard let usual = cases.lazy.compactMap(\.processors).first else { return "" }
        let place = usual == .far ? "far apart" : "near each other"
        return "Throughput on several threads is that with processors \(place), where enough was "
            + "measured."
    }

    /// What became of the repeats in which the distance changed.
    private var changedText: String {
        let changed = cases.filter { $0.threads > 1 }.flatMap(\.repeats)
            .filter { $0.processors == .changed }
        let left = changed.count { $0.isLeftOut == true }
        let kept = changed.count - left
        let sentences = [
            left > 0
                ? "\(FigureText.counted(left, "repeat")) on several threads, in which that "
                    + "changed, \(left == 1 ? "is" : "are") left out." : "",
            kept > 0
                ? "\(FigureText.counted(kept, "repeat")) in which it changed "
                    + "\(kept == 1 ? "counts" : "count"), since too few others would be left." : "",
        ]
        return sentences.filter { !$0.isEmpty }.joined(separator: " ")
    }
}

extension ComparisonReport.CacheLine {
    fileprivate var modesText: String {
        func time(_ mode: Mode) -> String {
            FigureText.duration(nanoseconds: mode.roundTripNanoseconds)
        }
        guard let near = modes.first else { return "" }
        guard modes.count > 1, let far = modes.last else {
            return "A cache line takes \(time(near)) from one processor to another and back."
        }
        return "The processors were near each other (a cache line takes \(time(near)) there and "
            + "back) in \(FigureText.percent(near.share)) of the readings, and far apart "
            + "(\(time(far))) in \(FigureText.percent(far.share))."
    }

    /// The nearest and the farthest pair, of more than two processors.
    fileprivate var pairsText: String {
        func text(_ pair: Pair) -> String {
            FigureText.duration(nanoseconds: pair.roundTripNanoseconds)
                + " between \(pair.first) and \(pair.second)"
        }
        let sorted = pairs.sorted { $0.roundTripNanoseconds < $1.roundTripNanoseconds }
        guard sorted.count > 1, let nearest = sorted.first, let farthest = sorted.last else {
            return ""
        }
        return "When the run began it was \(text(nearest)), and \(text(farthest))."
    }
}
