internal import Foundation
package import LatchkeyComparison

/// A report file that cannot be read or written, in a sentence.
///
/// Ends the program with status 2.
package struct ReportFileError: Error, Equatable, CustomStringConvertible {
    package var message: String

    package var description: String { message }
}

extension ComparisonReport {
    private struct Head: Codable {
        var schema: String
    }

    /// The report as JSON text, its fields in alphabetical order.
    package func json() throws(ReportFileError) -> [UInt8] {
        try Self.json(self, .prettyPrinted) + Array("\n".utf8)
    }

    /// A report, or a part of one, as JSON text.
    static func json(
        _ value: some Encodable,
        _ formatting: JSONEncoder.OutputFormatting = []
    ) throws(ReportFileError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        encoder.dateEncodingStrategy = .iso8601
        do {
            return try Array(encoder.encode(value))
        } catch {
            throw ReportFileError(message: "the report cannot be written as JSON: \(error).")
        }
    }

    /// Reads a report from JSON text.
    ///
    /// - Parameters:
    ///   - json: the text.
    ///   - source: the name of the text in an error.
    /// - Throws: ``ReportFileError`` if the text is not a report of this schema, or the one before.
    package init(json: [UInt8], source: String) throws(ReportFileError) {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        let data = Data(json)
        do {
            let head = try decoder.decode(Head.self, from: data)
            guard [Self.schemaName, EarlierReport.schemaName].contains(head.schema) else {
                throw ReportFileError(message: Self.sentence(schema: head.schema, source: source))
            }
            self = try decoder.decode(Self.self, from: data)
            if head.schema == EarlierReport.schemaName {
                try decoder.decode(EarlierReport.self, from: data).bringForward(&self)
            }
            // Belongs to the limit for noise of earlier versions.
            conditions.disturbances.removeAll { $0.hasPrefix("No difference below ") }
        } catch let error as ReportFileError {
            throw error
        } catch let error as DecodingError {
            throw ReportFileError(message: Self.sentence(error, source: source))
        } catch {
            throw ReportFileError(message: "\(source) cannot be read as JSON: \(error).")
        }
    }

    /// Reads a report from a file.
    package init(file path: String) throws(ReportFileError) {
        try self.init(json: ReportFile.read(path), source: ReportFile.name(ofRead: path))
    }

    private static func sentence(schema: String, source: String) -> String {
        let (name, number) = version(of: schema)
        let (ownName, ownNumber) = version(of: schemaName)
        let origin =
            if name == ownName, let number, let ownNumber {
                number < ownNumber
                    ? "It is of an earlier latchkey: measure again, or read it with that version."
                    : "It is of a later latchkey: read it with that version."
            } else {
                "It is not a report of latchkey compare."
            }
        return "\(source) has the schema '\(schema)'; this version of latchkey reads "
            + "'\(schemaName)' and the one before it. \(origin)"
    }

    /// The two sides of `name/number`.
    private static func version(of schema: String) -> (name: Substring, number: Int?) {
        let parts = schema.split(separator: "/", maxSplits: 1)
        return (parts.first ?? "", parts.last.flatMap { Int($0) })
    }

    private static func sentence(_ error: DecodingError, source: String) -> String {
        let (path, problem): ([any CodingKey], String) =
            switch error {
            case .keyNotFound(let key, let context):
                (context.codingPath, "has no '\(key.stringValue)'")
            case .typeMismatch(_, let context), .valueNotFound(_, let context):
                (context.codingPath, "has the wrong type")
            case .dataCorrupted(let context) where context.codingPath.isEmpty:
                ([], "is not valid JSON, or truncated")
            case .dataCorrupted(let context):
                (context.codingPath, "is not valid: \(context.debugDescription)")
            @unknown default:
                ([], "cannot be read")
            }
        let place = path.map { $0.intValue.map { "[\($0)]" } ?? ".\($0.stringValue)" }.joined()
        return place.isEmpty
            ? "\(source) is not a report of latchkey compare: it \(problem)."
            : "\(source) is damaged: \(place) \(problem)."
    }
}
