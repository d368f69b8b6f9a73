internal import LatchkeySync

extension ComparisonSettings {
    /// The command that repeats the run.
    package var commandLine: String {
        func list(_ values: [some CustomStringConvertible]) -> String {
            values.map(\.description).joined(separator: ",")
        }
        var parts = ["latchkey compare"]
        func add(_ flag: String, _ value: String) { parts.append("--\(flag) \(value)") }
        add("transport", transport.rawValue)
        add("strategies", list(strategies.map(\.rawValue)))
        add("threads", list(threads))
        add("read-ratio", list(readRatios.map(shortText)))
        if transport == .memory {
            add("section", list(sectionNanoseconds))
            add("outside", list(outside))
        }
        add("keys", list(keys))
        add("skew", list(skews))
        add("stripes", list(stripes))
        if transport == .http {
            add("thread-mode", list(threadModes.map(\.rawValue)))
        }
        add("arrival", arrival.description)
        add("duration", shortText(durationSeconds))
        add("repeats", "\(repeats)")
        add("seed", "\(seed)")
        if isForced { parts.append("--force") }
        return parts.joined(separator: " ")
    }
}
