internal import LatchkeySettings

extension ComparisonSettings {
    /// Throws the first error in the settings.
    package func validate(_ catalogue: Catalogue = Catalogue()) throws(ComparisonError) {
        func require(_ condition: Bool, _ message: String) throws(ComparisonError) {
            guard condition else { throw ComparisonError(message) }
        }
        try require(
            transport == .memory || arrival == .closed,
            "--transport http has a closed loop only: leave out "
                + (trace == nil ? "--arrival." : "--trace.")
        )
        try require(
            trace == nil || durationSeconds >= ComparisonBounds.durationSeconds.lowerBound,
            "--trace is too short: at this speed it takes less than 5 ms."
        )
        do {
            try checkSettings(Self.settings(catalogue))
        } catch {
            throw ComparisonError(error.message)
        }
        if transport == .http {
            try require(
                catalogue.program == nil,
                "--transport http measures the service, which has Latchkey's strategies only."
            )
            try require(
                durationSeconds >= 1 && durationSeconds == durationSeconds.rounded(),
                "--duration takes whole seconds over HTTP, since wrk does."
            )
            try require(
                keys.allSatisfy { $0 <= HTTPComparison.keysMax },
                "--keys takes at most \(HTTPComparison.keysMax) over HTTP."
            )
        }
        if case .recorded = arrival {
            try require(trace != nil, "--arrival recorded is for a trace: use --trace.")
        }
        if let rate = arrival.operationsPerSecond {
            try require(
                rate * durationSeconds >= ComparisonBounds.arrivalsMin,
                (trace == nil ? "--arrival" : "--trace")
                    + " has fewer than \(Int(ComparisonBounds.arrivalsMin)) operations in a "
                    + "repeat, too few for a p99: raise the rate"
                    + "\(trace == nil ? "" : " with --speed") or --duration."
            )
        }
    }
}
