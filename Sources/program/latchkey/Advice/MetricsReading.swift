internal import LatchkeyClient

/// The metrics of a service's lock, from the text of `/metrics`.
///
/// They count from the start of the service; two readings give the time between them. They are read
/// instead of `/v1/contention`, whose means and quantiles cannot be subtracted.
struct MetricsReading: Equatable {
    /// By strategy.
    var serving: [String: LockUse] = [:]
    /// Requests for properties, and the time from their heads to their answers.
    var requests = LockUse.Timed()
    var processorSeconds = 0.0

    init() {}

    init(text: String) {
        self.init(MetricSample.all(in: text))
    }

    init(_ samples: [MetricSample]) {
        for sample in samples {
            switch sample.name {
            case "process_cpu_seconds_total":
                processorSeconds = sample.value
            case "latchkey_http_request_duration_seconds_sum" where sample.isOfProperties:
                requests.seconds += sample.value
            case "latchkey_http_request_duration_seconds_count" where sample.isOfProperties:
                requests.count += sample.value
            case _:
                guard let strategy = sample.labels["strategy"], sample.labels["role"] == "serving"
                else { continue }
                sample.add(to: &serving[strategy, default: LockUse()])
            }
        }
    }

    /// The differences since an earlier reading; nil if the service was restarted between them.
    func since(_ earlier: Self) -> Self? {
        var result = self
        for (strategy, use) in earlier.serving {
            result.serving[strategy] = serving[strategy, default: LockUse()] - use
        }
        result.requests.count -= earlier.requests.count
        result.requests.seconds -= earlier.requests.seconds
        result.processorSeconds -= earlier.processorSeconds
        let isLater =
            result.serving.values.allSatisfy { $0.operations >= 0 } && result.requests.count >= 0
            && result.processorSeconds >= 0
        return isLater ? result : nil
    }
}

extension MetricSample {
    /// Watches and probes have times that say nothing about the lock.
    fileprivate var isOfProperties: Bool {
        ["get", "change", "list", "transaction"].contains(labels["kind"])
    }

    fileprivate func add(to use: inout LockUse) {
        switch name {
        case "latchkey_lock_acquisitions_total": use.operations += value
        case "latchkey_lock_contended_total": use.contended += value
        case "latchkey_lock_wait_seconds_sum": use.wait.seconds += value
        case "latchkey_lock_wait_seconds_count": use.wait.count += value
        case "latchkey_lock_hold_seconds_sum": use.hold.seconds += value
        case "latchkey_lock_hold_seconds_count": use.hold.count += value
        case "latchkey_lock_wait_seconds_bucket": add(to: &use.waitBuckets)
        case "latchkey_lock_hold_seconds_bucket": add(to: &use.holdBuckets)
        case _: return
        }
    }

    private func add(to buckets: inout [Double: Double]) {
        let bound = labels["le"].flatMap { $0 == "+Inf" ? .infinity : Double($0) }
        guard let bound else { return }
        buckets[bound, default: 0] += value
    }
}
