package import Foundation
package import LatchkeyContention
package import LatchkeyMachine

/// The answer to `GET /v1/contention`: the report, and the environment of its figures.
///
/// In JSON, `fingerprint` stands beside the fields of the report.
package struct ContentionAnswer: Codable, Sendable, Equatable {
    package var fingerprint: Fingerprint
    package var report: ContentionReport

    private enum CodingKeys: CodingKey { case fingerprint }

    package init(fingerprint: Fingerprint, report: ContentionReport) {
        (self.fingerprint, self.report) = (fingerprint, report)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        fingerprint = try container.decode(Fingerprint.self, forKey: .fingerprint)
        report = try ContentionReport(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(fingerprint, forKey: .fingerprint)
        try report.encode(to: encoder)
    }

    /// - Throws: Foundation's error if `json` is not such an answer.
    package init(json: Data) throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        self = try decoder.decode(Self.self, from: json)
    }

    /// As JSON text.
    ///
    /// The order of the fields is alphabetical, so that two reports can be compared line by line.
    package func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(self)
    }

    /// Figures of a debug build say nothing about the strategies.
    package var isOfDebugBuild: Bool { fingerprint.configuration == "debug" }
}
