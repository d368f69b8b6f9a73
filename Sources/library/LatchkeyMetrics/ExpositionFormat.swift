import Foundation

/// The text formats that a scrape can have.
package enum ExpositionFormat: Sendable, CaseIterable {
    /// Prometheus' text format, version 0.0.4.
    case text
    /// OpenMetrics, version 1.0.0.
    case openMetrics

    /// The exact value of the `Content-Type` header.
    package var contentType: String {
        switch self {
        case .text: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8"
        }
    }

    /// Chooses by the value of a request's `Accept` header, `nil` if it has none.
    ///
    /// OpenMetrics if the header names it, with a quality above zero and not below that of plain
    /// text; else text. Wildcards mean text, which every client reads, and so does a header that
    /// accepts neither: a scrape is never refused for its header. OpenMetrics is always version
    /// 1.0.0, whichever is asked for.
    package init(accept: (some Collection<UInt8>)?) {
        var openMetrics = 0.0
        var text: (quality: Double, specificity: Int) = (0, -1)
        for element in accept?.split(separator: UInt8(ascii: ",")) ?? [] {
            guard let range = MediaRange(element) else { continue }
            if range.type == "application/openmetrics-text" {
                openMetrics = max(openMetrics, range.quality)
            } else if let specificity = range.textSpecificity {
                if specificity > text.specificity {
                    text = (range.quality, specificity)
                } else if specificity == text.specificity {
                    text.quality = max(text.quality, range.quality)
                }
            }
        }
        self = openMetrics > 0 && openMetrics >= text.quality ? .openMetrics : .text
    }
}

/// One element of an `Accept` header (RFC 9110 section 12.5.1).
private struct MediaRange {
    var type: String
    var quality = 1.0
    var version: String?

    /// `nil` for an element with a quality that is no number from 0 to 1.
    init?(_ element: some Collection<UInt8>) {
        let parts = element.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
            .map {
                String(decoding: $0, as: UTF8.self).lowercased()
                    .trimmingCharacters(in: .whitespaces)
            }
        guard let type = parts.first, !type.isEmpty else { return nil }
        self.type = type
        for parameter in parts.dropFirst() {
            let sides = parameter.split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            ).map { $0.trimmingCharacters(in: .whitespaces) }
            guard sides.count == 2 else { continue }
            let value = sides[1].trimmingCharacters(in: ["\""])
            if sides[0] == "q" {
                guard let quality = Double(value), (0...1).contains(quality) else { return nil }
                self.quality = quality
            } else if sides[0] == "version" {
                version = value
            }
        }
    }

    /// The specificity with which the range names the text format; `nil` if it does not.
    var textSpecificity: Int? {
        switch type {
        case "text/plain": version == nil || version == "0.0.4" ? 2 : nil
        case "text/*": 1
        case "*/*": 0
        default: nil
        }
    }
}
