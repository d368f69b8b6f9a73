internal import Foundation
internal import LatchkeyContention
internal import LatchkeyMachine

/// The contention of the service on one screen, for people: no line has more than 80 characters.
struct ContentionText: CustomStringConvertible {
    private static let widthMax = 80
    private static let siteCountMax = 8
    private static let siteWidth = 29

    let report: ContentionReport
    /// Nil unless the service profiles.
    let profile: ProfileReading?

    var description: String {
        (rows + [""] + sites).joined(separator: "\n") + "\n"
    }

    // MARK: strategies

    private var rows: [String] {
        guard !report.rows.isEmpty else {
            return ["Nothing is measured: the service runs with --metering off."]
        }
        let head = [
            "strategy", "role", "rate/s", "contended", "wait total", "p99", "max",
        ]
        let cells = report.rows.map { row -> [String] in
            let seconds = row.servedSeconds ?? report.generatedAt.timeIntervalSince(row.since)
            let ratio = row.contendedRatio.map { Self.percent($0, row.contendedIsExact) }
            return [
                row.strategy, row.servesNow == false ? "served" : row.role.rawValue,
                Self.count(Double(row.acquisitions.all) / max(1e-3, seconds)), ratio ?? "-",
                Self.time(row.waitTotalNanoseconds == 0 ? nil : row.waitTotalNanoseconds),
                Self.time(row.wait.all?.p99Nanoseconds),
                Self.time(row.wait.all?.maxNanoseconds),
            ]
        }
        let age = report.rows.map { report.generatedAt.timeIntervalSince($0.since) }.max() ?? 0
        let hottest = report.hottest.map { [""] + Terminal.lines($0, width: Self.widthMax) } ?? []
        return Self.table([head] + cells, textColumns: 2) + served + hottest + [
            "",
            "Figures of the last \(Self.span(age)), level \(report.rows[0].level.rawValue). "
                + "POST /v1/contention/reset starts again.",
        ]
    }

    /// How long each strategy has served, if there was more than one.
    private var served: [String] {
        let times = report.rows.compactMap { row in
            row.servedSeconds.map { (row.strategy, Self.span($0), row.servesNow == true) }
        }
        guard times.count > 1 else { return [] }
        let list = times.map { "\($0) \($1)\($2 ? " (now)" : "")" }.joined(separator: ", ")
        return [""] + Terminal.lines("Served: \(list).", width: Self.widthMax)
    }

    // MARK: sites

    private var sites: [String] {
        guard let profile else {
            return ["Start the service with --profile to see who blocks whom."]
        }
        let sites = profile.sites
        let all = sites.reduce(Duration.zero) { $0 + $1.delay }
        guard all > .zero else {
            return ["Profile: no contended access was recorded yet (1 in \(profile.interval))."]
        }
        let cells = sites.prefix(Self.siteCountMax).map { site in
            [
                Self.tail(site.holder), Self.tail(site.waiter),
                Self.percent(site.delay / all, true), Self.time(UInt64(site.delay.nanoseconds)),
            ]
        }
        let lost = profile.lostCount == 0 ? "" : ", \(profile.lostCount) not recorded"
        let title =
            "Who blocks whom, since the start (1 wait in \(profile.interval)\(lost)):"
        return [title]
            + Self.table([["holder", "waiter", "share", "wait"]] + cells, textColumns: 2)
    }

    // MARK: cells

    /// Text is aligned left, numbers are aligned right.
    private static func table(_ lines: [[String]], textColumns: Int) -> [String] {
        let widths = lines[0].indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < textColumns ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }
    }

    /// The end of a place, without its module if there is no room: the end tells places apart.
    private static func tail(_ place: String) -> String {
        guard place.count > siteWidth else {
            return place
        }
        let name = place.split(separator: "/").last.map(String.init) ?? place
        return name.count > siteWidth ? "…" + name.suffix(siteWidth - 1) : name
    }

    private static func count(_ number: Double) -> String {
        switch number {
        case 1e6...: String(format: "%.1fM", number / 1e6)
        case 1e4...: String(format: "%.0fk", number / 1e3)
        case 1e3...: String(format: "%.1fk", number / 1e3)
        default: String(format: "%.0f", number)
        }
    }

    private static func percent(_ share: Double, _ isExact: Bool) -> String {
        String(format: isExact ? "%.1f %%" : "~%.1f %%", share * 100)
    }

    private static func time(_ nanoseconds: UInt64?) -> String {
        guard let nanoseconds else {
            return "-"
        }
        let number = Double(nanoseconds)
        return switch nanoseconds {
        // A time that would be rounded to 1000.0 has the next unit.
        case 999_950_000...: String(format: "%.1f s", number / 1e9)
        case 999_950...: String(format: "%.1f ms", number / 1e6)
        case 1_000...: String(format: "%.1f µs", number / 1e3)
        default: "\(nanoseconds) ns"
        }
    }

    private static func span(_ seconds: Double) -> String {
        switch seconds {
        case 7200...: "\(Int(seconds / 3600)) h"
        case 120...: "\(Int(seconds / 60)) min"
        default: "\(Int(seconds)) s"
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { Int64(self / .nanoseconds(1)) }
}
