/// The amount of measuring.
///
/// The raw value is the command line's and the report's spelling.
@usableFromInline package enum MeteringLevel: String, Sendable, CaseIterable, Codable {
    /// Nothing: the strategy is used without a meter, and costs what it costs.
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
    /// Timing one takes about 100 ns here, so that of each acquisition it is less than 1 ns; and a
    /// thread that does no more than 10,000 in a second still has some 80 of them timed.
    @usableFromInline package static let samplingMeanDefault = 128
}

/// The use of the strategy under a meter.
@usableFromInline package enum MeterRole: String, Sendable, CaseIterable, Codable {
    /// It guards what clients are answered from.
    case serving
    /// It is given a share of the live operations, and its results are thrown away.
    case shadow
    /// It was or is driven by a workload of our own.
    case comparison
}
