/// The metrics of a service that the advice depends on, from the text of `/metrics`.
///
/// They count from the start of the service; two readings give what was between them. They are read
/// instead of `/v1/contention`, whose means and quantiles cannot be subtracted.
struct MetricsReading: Equatable {
    /// By strategy.
    var serving: [String: LockUse] = [:]
    var shadows: [String: LockUse] = [:]
    /// Requests for properties, and the time from their heads to their answers.
    var requests = LockUse.Timed()
    var processorSeconds = 0.0

    init() {}

    init(text: String) {
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            guard let sample = Sample(line) else { continue }
            switch sample.name {
            case "process_cpu_seconds_total":
                processorSeconds = sample.value
            case "latchkey_http_request_duration_seconds_sum" where sample.isOfProperties:
                requests.seconds += sample.value
            case "latchkey_http_request_duration_seconds_count" where sample.isOfProperties:
                requests.count += sample.value
            case _:
                guard let strategy = sample.labels["strategy"] else { continue }
                switch sample.labels["role"] {
                case "serving": sample.add(to: &serving[strategy, default: LockUse()])
                case "shadow": sample.add(to: &shadows[strategy, default: LockUse()])
                case _: continue
                }
            }
        }
    }

    private struct Sample {
        let name: Substring
        let labels: [String: String]
        let value: Double

        /// A line such as `name{strategy="lock",mode="read"} 3`.
        init?(_ line: Substring) {
            guard let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            self.value = value
            let series = line[..<space]
            name = series.prefix { $0 != "{" }
            // The values that are read have no quotes: name{a= x ,b= y }
            let parts = series.dropFirst(name.count + 1).split(
                separator: "\"",
                omittingEmptySubsequences: false
            )
            var labels: [String: String] = [:]
            for index in stride(from: 0, to: parts.count - 1, by: 2) {
                let label = parts[index].drop { $0 == "," }.dropLast()
                labels[String(label)] = String(parts[index + 1])
            }
            self.labels = labels
        }

        /// Watches and probes have times that say nothing about the lock.
        var isOfProperties: Bool {
            let route = labels["route"] ?? ""
            return route.hasPrefix("/v1/properties") || route == "/v1/transactions"
        }

        func add(to use: inout LockUse) {
            switch name {
            case "latchkey_lock_acquisitions_total":
                use.operations += value
                if labels["mode"] == "read" { use.reads += value }
            case "latchkey_lock_contended_total": use.contended += value
            case "latchkey_lock_wait_seconds_sum": use.wait.seconds += value
            case "latchkey_lock_wait_seconds_count": use.wait.count += value
            case "latchkey_lock_hold_seconds_sum": use.hold.seconds += value
            case "latchkey_lock_hold_seconds_count": use.hold.count += value
            case "latchkey_lock_wait_seconds_bucket":
                let bound = labels["le"].flatMap { $0 == "+Inf" ? .infinity : Double($0) }
                guard let bound else { return }
                use.waitBuckets[bound, default: 0] += value
            case _: return
            }
        }
    }
}
