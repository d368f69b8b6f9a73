internal import Foundation
internal import LatchkeyFrame

/// The answer to `GET /v1/overview`.
struct OverviewAnswer: Encodable, Equatable {
    /// The rates over some seconds, and the gauges at their end.
    struct Point: Encodable, Equatable {
        /// How long ago these seconds ended.
        var ageSeconds: Double
        /// The length of this time.
        var seconds: Double
        var requestsPerSecond: Double
        var clientErrorsPerSecond: Double
        var serverErrorsPerSecond: Double
        var acquisitionsPerSecond: Double
        /// Nil without acquisitions.
        var contendedRatio: Double?
        var properties: Int
        var watchers: Int
        var memoryBytes: Int?
    }

    /// The requests of the last one to two minutes by name, prefix and token.
    struct Traffic: Encodable, Equatable {
        struct Share: Encodable, Equatable {
            var name: String
            var requestsPerSecond: Double
            /// At most this part of it belongs to others.
            var errorPerSecond: Double
        }

        var seconds: Double
        var sampledOneIn: Int
        var requestsPerSecond: Double
        var names: [Share]
        var prefixes: [Share]
        /// Nil for a caller that may not see them.
        var tokens: [Share]?
    }

    var generatedAt: Date
    var uptimeSeconds: Double
    /// The one that serves.
    var strategy: String
    var revision: UInt64
    var properties: Int
    var bytes: Int
    var watchers: Int
    var memoryBytes: Int?
    /// Answered since the start.
    var requests: UInt64
    var clientErrors: UInt64
    var serverErrors: UInt64
    /// The nearest to its limit first.
    var bounds: [ServiceBounds.Reading]
    /// Nil if it is not counted.
    var traffic: Traffic?
    var intervalSeconds: Int
    /// The oldest first.
    var points: [Point]

    /// As JSON text.
    func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(self)
    }

    /// A figure with only its meaningful places.
    static func rounded(_ value: Double, _ places: Double = 1000) -> Double {
        (value * places).rounded() / places
    }
}

extension OverviewAnswer.Traffic {
    init(_ reading: LatchkeyFrame.Traffic.Reading) {
        func shares(_ shares: [LatchkeyFrame.Traffic.Share]) -> [Share] {
            shares.map { share in
                Share(
                    name: share.text,
                    requestsPerSecond: OverviewAnswer.rounded(share.perSecond),
                    errorPerSecond: OverviewAnswer.rounded(share.errorPerSecond)
                )
            }
        }
        self.init(
            seconds: OverviewAnswer.rounded(reading.seconds),
            sampledOneIn: LatchkeyFrame.Traffic.samplingMean,
            requestsPerSecond: OverviewAnswer.rounded(reading.perSecond),
            names: shares(reading.names),
            prefixes: shares(reading.prefixes),
            tokens: reading.tokens.map(shares)
        )
    }
}
