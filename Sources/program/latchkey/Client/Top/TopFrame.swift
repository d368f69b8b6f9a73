internal import Foundation
internal import LatchkeyClient
internal import LatchkeyMachine
internal import LatchkeyReport

/// One picture of `latchkey top`: the differences of two readings.
struct TopFrame {
    let origin: String
    let earlier: TopReading
    let later: TopReading
    /// Which lock makes requests wait most, in the service's own sentence.
    var hottest: String?
    /// The most frequent requests and tokens, as the service reports them; nil if it does not.
    var busiest: JSONValue?
    /// The time of day in seconds since 1970.
    var now = 0.0

    static let classes: [(digit: Character, name: String)] = [
        ("2", "2xx"), ("3", "3xx"), ("4", "4xx"), ("5", "5xx"),
    ]

    private var span: Double { max(1e-3, later.seconds - earlier.seconds) }

    /// Lines without controls of a terminal, none longer than the width.
    func lines(width: Int) -> [String] {
        let sentence = hottest.map { [""] + Terminal.lines($0, width: width) } ?? []
        let all = [title, "", traffic] + most + [state, ""] + locks + sentence
        return all.map { String(TerminalStyle.withoutControls($0).prefix(width)) }
    }

    private var title: String {
        let started = gauge("process_start_time_seconds")
        let uptime = started.map { "  up \(Self.duration(max(0, now - $0)))" } ?? ""
        let strategy = later.strategy.map { "  strategy \($0)" } ?? ""
        return "latchkey top  \(origin)\(uptime)\(strategy)"
    }

    private var traffic: String {
        let rates = Self.classes.map { digit, name in
            "\(name) \(Self.count(rate(later.requests[digit], earlier.requests[digit])))"
        }
        let all = later.requests.values.reduce(0, +)
        let before = earlier.requests.values.reduce(0, +)
        return "requests/s \(Self.count(rate(all, before)))  (\(rates.joined(separator: "  ")))"
    }

    /// The property, the prefix and the token with the most requests.
    private var most: [String] {
        let found = [("names", "property"), ("prefixes", "prefix"), ("tokens", "token")]
            .compactMap { member, kind -> String? in
                guard let first = busiest?[member]?.elements.first, let name = first["name"]?.string
                else { return nil }
                let rate = first["requestsPerSecond"].flatMap { Double($0.text) } ?? 0
                return "\(kind) \(Self.short(name)) \(Self.count(rate))"
            }
        return found.isEmpty ? [] : ["most of them   \(found.joined(separator: "  "))"]
    }

    /// Shortens a name, so that the others have room.
    private static func short(_ name: String) -> String {
        name.count <= 24 ? name : name.prefix(11) + "…" + name.suffix(12)
    }

    private var state: String {
        func number(_ name: String) -> String { gauge(name).map { Self.count($0) } ?? "-" }
        func bytes(_ name: String) -> String { gauge(name).map { Self.bytes($0) } ?? "-" }
        return [
            "properties \(number("latchkey_store_properties"))",
            "bytes \(bytes("latchkey_store_bytes"))",
            "watchers \(number("latchkey_watchers"))",
            "connections \(number("latchkey_http_connections"))",
            "memory \(bytes("process_resident_memory_bytes"))",
        ].joined(separator: "  ")
    }

    private var locks: [String] {
        let rows = rows(later.locks.serving, earlier.locks.serving)
        guard !rows.isEmpty else {
            return ["Nothing is measured: the service runs with --metering off."]
        }
        let head = ["strategy", "acquisitions/s", "contended", "wait p99", "hold p99"]
        return Self.table([head] + rows)
    }

    private func rows(
        _ later: [String: LockUse],
        _ earlier: [String: LockUse]
    ) -> [[String]] {
        later.keys.sorted().map { name in
            let use = later[name, default: LockUse()] - earlier[name, default: LockUse()]
            let share = use.operations > 0 ? min(1, use.contended / use.operations) : nil
            return [
                name, Self.count(rate(use.operations, 0)),
                share.map { String(format: "%.1f %%", $0 * 100) } ?? "-",
                Self.time(use.waitBound(0.99)), Self.time(use.holdBound(0.99)),
            ]
        }
    }

    // MARK: cells

    func gauge(_ name: String) -> Double? { later.gauges[name] }

    /// Not below 0: a service that was restarted counts from 0.
    func rate(_ later: Double?, _ earlier: Double?) -> Double {
        max(0, (later ?? 0) - (earlier ?? 0)) / span
    }

    /// Text is aligned left, numbers right.
    private static func table(_ lines: [[String]]) -> [String] {
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }
    }

    static func count(_ number: Double) -> String {
        switch number {
        case 999_950...: String(format: "%.1fM", number / 1e6)
        case 9_999.5...: String(format: "%.1fk", number / 1e3)
        default: String(format: "%.0f", number)
        }
    }

    static func bytes(_ number: Double) -> String {
        switch number {
        case 0x1p30...: String(format: "%.1f GiB", number / 0x1p30)
        case 0x1p20...: String(format: "%.1f MiB", number / 0x1p20)
        case 0x1p10...: String(format: "%.1f KiB", number / 0x1p10)
        default: String(format: "%.0f B", number)
        }
    }

    /// The limit of a bucket.
    static func time(_ seconds: Double?) -> String {
        guard let seconds else { return "-" }
        return switch seconds {
        case .infinity: "beyond"
        case 0.9995...: String(format: "≤ %.1f s", seconds)
        case 0.999_5e-3...: String(format: "≤ %.1f ms", seconds * 1e3)
        case 0.999_5e-6...: String(format: "≤ %.1f µs", seconds * 1e6)
        default: String(format: "≤ %.0f ns", seconds * 1e9)
        }
    }

    static func duration(_ seconds: Double) -> String {
        switch seconds {
        case 172_800...: "\(Int(seconds / 86_400)) d"
        case 7200...: "\(Int(seconds / 3600)) h"
        case 120...: "\(Int(seconds / 60)) min"
        default: "\(Int(seconds)) s"
        }
    }
}
