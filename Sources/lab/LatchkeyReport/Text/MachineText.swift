internal import Foundation
package import LatchkeyComparison
internal import LatchkeyVerdict

extension ComparisonReport {
    /// The machine and the build in one line.
    package var machine: String {
        let facts = [
            fingerprint.processorModel,
            FigureText.counted(fingerprint.processorsOnline, "processor"),
            fingerprint.kernel.map { "Linux \($0)" },
            "Swift \(fingerprint.swiftVersionAtLeast) or later",
            "\(fingerprint.configuration) build", "Mutex: \(fingerprint.mutex.kind.rawValue)",
            cacheLineFact,
        ]
        return facts.compactMap(\.self).joined(separator: ", ")
    }

    /// The day on which the run began.
    package var day: String { startedAt.formatted(.iso8601.year().month().day()) }
}
