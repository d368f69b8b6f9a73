/// What was seen of a running service, from which the advice follows.
struct Observation: Equatable {
    /// A part of the time, between two readings.
    struct Slice: Equatable {
        var serving = LockUse()
        /// By strategy.
        var shadows: [String: LockUse] = [:]
        /// Requests for properties, and their time.
        var requests = LockUse.Timed()
        var processorSeconds = 0.0
    }

    /// The strategy that serves.
    var strategy: String
    var seconds: Double
    var slices: [Slice]
    /// One access in so many was timed on average.
    var samplingMean = 1
    var isDebugBuild = false
    /// What a timed wait has besides the wait: a reading of the clock.
    var clockSeconds = 0.0
    /// Strategies whose waits cannot be compared with those of others, because their writes are
    /// applied later.
    var incomparable: Set<String> = []
    /// Whether the shadows get all operations.
    var isWholeSample = false
    /// Which lock makes requests wait most, in the service's own sentence.
    var hottest: String?

    /// All slices together.
    var whole: Slice {
        slices.reduce(into: Slice()) { whole, slice in
            whole.serving = whole.serving + slice.serving
            whole.shadows.merge(slice.shadows) { $0 + $1 }
            whole.requests.count += slice.requests.count
            whole.requests.seconds += slice.requests.seconds
            whole.processorSeconds += slice.processorSeconds
        }
    }
}

extension Observation.Slice {
    /// What happened between two readings; `nil` if the service was restarted between them.
    init?(from earlier: MetricsReading, to later: MetricsReading, strategy: String) {
        func difference(_ later: LockUse?, _ earlier: LockUse?) -> LockUse {
            (later ?? LockUse()) - (earlier ?? LockUse())
        }
        serving = difference(later.serving[strategy], earlier.serving[strategy])
        for (name, use) in later.shadows {
            shadows[name] = difference(use, earlier.shadows[name])
        }
        requests.count = later.requests.count - earlier.requests.count
        requests.seconds = later.requests.seconds - earlier.requests.seconds
        processorSeconds = later.processorSeconds - earlier.processorSeconds
        guard serving.operations >= 0, requests.count >= 0, processorSeconds >= 0 else {
            return nil
        }
    }
}
