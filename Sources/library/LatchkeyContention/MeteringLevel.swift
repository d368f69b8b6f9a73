/// The amount of measuring.
///
/// The raw value is the command line's and the report's spelling.
public enum MeteringLevel: String, Sendable, CaseIterable, Codable {
    /// Nothing.
    ///
    /// The strategy is used without a meter.
    case off
    /// Acquisitions, contention and hand-offs. The clock is read for contended waits only, so
    /// the wait histogram has those and no others, and the hold histogram is empty.
    case counts
    /// Also wait and hold, of one acquisition in many for each thread, scaled up.
    case sampled
    /// Also wait and hold, of every acquisition.
    case full

    /// `sampled` times one acquisition in N on average: the default of N.
    ///
    /// Timing an acquisition takes about 100 ns, which is less than 1 ns for each acquisition on
    /// average. A thread with 10,000 acquisitions per second still has about 80 of them timed.
    @usableFromInline package static let samplingMeanDefault = 128
}

/// The use of the strategy under a meter.
@usableFromInline package enum MeterRole: String, Sendable, CaseIterable, Codable {
    /// It guards the state that clients read.
    case serving
    /// A workload of `latchkey compare` uses it, or has used it.
    case comparison

    /// Where reports have it.
    var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
