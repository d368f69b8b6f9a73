internal import LatchkeyComparison

/// Whether the processors were about as far apart in two runs.
///
/// What several threads share is then comparable: its throughput follows the way of a cache line.
struct CacheLineDifference {
    /// The least ratio of the averages at which two reports are not alike.
    ///
    /// A hypervisor that moves the processors changes a reading by a factor of four. A run of which
    /// a fourth had other readings is below this bound, one of which a half had is above.
    static let ratioMin = 1.5

    let before: Double
    let after: Double

    /// `nil` if the reports are comparable, or a figure is missing.
    init?(_ before: ComparisonReport, _ after: ComparisonReport) {
        guard let old = before.fingerprint.cacheLine?.averageNanoseconds,
            let new = after.fingerprint.cacheLine?.averageNanoseconds,
            min(old, new) > 0, max(old, new) >= Self.ratioMin * min(old, new)
        else { return nil }
        (self.before, self.after) = (old, new)
    }

    /// What can be compared nevertheless: the figures of one thread.
    ///
    /// - Throws: A sentence if there are none.
    func comparable(
        _ rows: [ReportDifference.Row]
    ) throws(ReportFileError) -> [ReportDifference.Row] {
        let alone = rows.filter(\.isOneThread)
        guard !alone.isEmpty else {
            throw ReportFileError(
                message: "\(sentence), and the reports have no case of one thread. --force "
                    + "compares them anyway."
            )
        }
        return alone
    }

    var note: String {
        "\(sentence), so only cases of one thread are compared. --force compares everything."
    }

    private var sentence: String {
        let times = [before, after].map { FigureText.duration(nanoseconds: $0) }
        return "The processors were \(after > before ? "farther apart" : "nearer to each other") "
            + "after than before: a cache line took \(times[0]) there and back before and "
            + "\(times[1]) after, on average. What several threads do follows that"
    }
}
