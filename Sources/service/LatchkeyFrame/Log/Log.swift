internal import Foundation
internal import LatchkeyJSON
internal import LatchkeyStore

/// The event log: one line for each event, on standard error.
///
/// No thread waits for a slow reader of the log: see ``LineWriter``. Dropped lines are counted, and
/// a line says how many.
package struct Log: Sendable {
    package enum Format: String, CaseIterable, Sendable {
        case text
        case json
    }

    package enum Level: String, CaseIterable, Sendable, Comparable {
        case debug
        case info
        case warning
        case error

        private var rank: Int {
            switch self {
            case .debug: 0
            case .info: 1
            case .warning: 2
            case .error: 3
            }
        }

        package static func < (left: Level, right: Level) -> Bool { left.rank < right.rank }
    }

    private let format: Format
    private let level: Level
    private let writer: LineWriter

    package init(
        format: Format,
        level: Level,
        writer: LineWriter = .standardError
    ) {
        self.format = format
        self.level = level
        self.writer = writer
    }

    /// Writes an event.
    ///
    /// - Parameters:
    ///   - level: The level.
    ///   - event: A fixed text for this kind of event.
    ///   - fields: The details, in this order.
    package func write(
        _ level: Level,
        _ event: String,
        _ fields: KeyValuePairs<String, String> = [:]
    ) {
        write(level, event, fields.map { ($0, $1) })
    }

    /// The same with a list of details.
    package func write(_ level: Level, _ event: String, _ fields: [(String, String)]) {
        guard level >= self.level else {
            return
        }
        append(level, event, fields)
    }

    /// Writes an event that was asked for, at any lowest level.
    package func writeAsked(_ event: String, _ fields: [(String, String)]) {
        append(.info, event, fields)
    }

    private func append(_ level: Level, _ event: String, _ fields: [(String, String)]) {
        writer.append(line(level, event, fields, time: Timestamp.ofLogs.calendarText)) { count in
            line(.warning, "log", [("dropped", "\(count)")], time: Timestamp.ofLogs.calendarText)
        }
    }

    package func line(
        _ level: Level,
        _ event: String,
        _ fields: [(String, String)],
        time: String
    ) -> [UInt8] {
        switch format {
        case .text:
            // Quoting prevents a value from outside from ending the line and forging another one.
            let pairs = fields.map { " \($0)=\(Self.quoted($1))" }.joined()
            return Array("\(time) \(level.rawValue) \(event)\(pairs)\n".utf8)
        case .json:
            var json = JSONWriter()
            json.object { object in
                object.member("time", time)
                object.member("level", level.rawValue)
                object.member("event", event)
                for (name, value) in fields {
                    object.member(name, value)
                }
            }
            return json.bytes + [UInt8(ascii: "\n")]
        }
    }

    private static func quoted(_ value: String) -> String {
        let isPlain = value.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }
        guard !isPlain || value.isEmpty else {
            return value
        }
        var json = JSONWriter()
        json.string(value.utf8)
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
