internal import Foundation
internal import LatchkeyClient
internal import LatchkeySettings
internal import LatchkeyStore

/// The dump of another store, as lines of an import.
///
/// The whole text is in memory, and so are the lines.
struct ForeignDump {
    enum Format: String, CaseIterable, Sendable {
        case latchkey
        /// `etcdctl get --prefix "" -w json`: `{"kvs":[{"key":…,"value":…},…],…}`, in base64.
        case etcd
        /// `consul kv export`: `[{"key":…,"flags":…,"value":…},…]`, the value in base64.
        case consul
    }

    /// How many keys are named that cannot be imported.
    private static let namedCountMax = 5

    /// The lines of an import, the last one included.
    private(set) var lines: [UInt8] = []
    /// How many properties they have.
    private(set) var count = 0
    /// How many keys cannot be properties.
    private(set) var refusedCount = 0
    /// The first of these keys, each with the reason.
    private var refused: [String] = []

    /// Nil if it is not a text of this format.
    init?(_ text: [UInt8], _ format: Format) {
        guard let dump = JSONValue(text) else { return nil }
        switch format {
        case .latchkey:
            return nil
        case .etcd:
            // A prefix without keys has no member `kvs`.
            guard dump["header"] != nil else { return nil }
            for row in dump["kvs"]?.elements ?? [] {
                guard let key = Self.decoded(row["key"]), let value = Self.decoded(row["value"])
                else { return nil }
                add(key, value)
            }
        case .consul:
            guard dump.text.hasPrefix("[") else { return nil }
            for row in dump.elements {
                guard let key = row["key"]?.string, let value = Self.decoded(row["value"])
                else { return nil }
                add(Array(key.utf8), value)
            }
        }
        lines += Array(#"{"end":true,"count":\#(count)}"#.utf8) + [UInt8(ascii: "\n")]
    }

    /// The decoded bytes of base64; none for a missing text, which is how both stores write an
    /// empty value.
    private static func decoded(_ value: JSONValue?) -> [UInt8]? {
        guard let value, value.text != "null" else { return [] }
        return value.string.flatMap { Data(base64Encoded: $0) }.map { Array($0) }
    }

    private mutating func add(_ key: [UInt8], _ bytes: [UInt8]) {
        let problem: InvalidName? = unsafe key.withUnsafeBytes { key in
            do throws(InvalidName) {
                try unsafe PropertyName.check(key)
                return nil
            } catch {
                return error
            }
        }
        if let problem { return refuse(key, problem.detail) }
        guard let value = Self.value(bytes) else {
            return refuse(key, "The value is neither JSON nor UTF-8.")
        }
        let name = JSONValue(string: String(decoding: key, as: UTF8.self))
        let line = #"{"name":\#(name.text),"value":\#(value.oneLine)}"#
        lines += Array(line.utf8) + [UInt8(ascii: "\n")]
        count += 1
    }

    /// JSON as it is, and any other text as a JSON text; nil for bytes that are no text.
    private static func value(_ bytes: [UInt8]) -> JSONValue? {
        JSONValue(bytes) ?? String(validating: bytes, as: UTF8.self).map(JSONValue.init(string:))
    }

    private mutating func refuse(_ key: [UInt8], _ reason: String) {
        refusedCount += 1
        guard refused.count < Self.namedCountMax else { return }
        let name = JSONValue(string: String(decoding: key.prefix(60), as: UTF8.self)).text
        refused.append("\(name): \(reason)")
    }

    /// A sentence about the keys that cannot be properties; nil if all can.
    var refusal: String? {
        guard refusedCount > 0 else { return nil }
        let more = refusedCount - refused.count
        return "\(refusedCount) of \(refusedCount + count) keys cannot be imported: "
            + refused.joined(separator: " ") + (more > 0 ? " And \(more) more." : "")
    }
}
