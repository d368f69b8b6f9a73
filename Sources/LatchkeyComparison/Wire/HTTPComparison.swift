package struct HTTPComparison {
    package init(_ settings: ComparisonSettings, version: String) throws(ComparisonSettingsError) {
        throw ComparisonSettingsError("--transport http is not there yet.")
    }

    package func run(
        isInterrupted: @escaping @Sendable () -> Bool,
        progress: (ComparisonProgress) -> Void
    ) -> ComparisonReport {
        preconditionFailure()
    }
}

extension ComparisonSettings {
    /// What is compared over HTTP if nothing is said.
    package mutating func useHTTPDefaults() {
        threads = [4, 32]
        sectionNanoseconds = [0]
        outside = [OutsideWork(nanoseconds: 0, scalesWithThreads: false)]
        durationSeconds = 1
        repeats = 3
    }
}
