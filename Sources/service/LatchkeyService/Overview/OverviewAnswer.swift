internal import Foundation
internal import LatchkeyFrame

/// The answer to `GET /v1/overview`.
struct OverviewAnswer: Encodable, Equatable {
    /// What happened in some seconds, and what there was at their end.
    struct Point: Encodable, Equatable {
        /// How long ago they ended.
        var ageSeconds: Double
        /// How long they were.
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

    /// A figure with so many places as tell something.
    static func rounded(_ value: Double, _ places: Double = 1000) -> Double {
        (value * places).rounded() / places
    }
}
