internal import LatchkeyClient

/// The differences between two exports.
///
/// The first one is in memory, and so are the differences.
struct ExportDifference {
    /// A property that is in one export only, or has another value in the other.
    struct Change {
        let name: String
        /// Nil if it was added.
        let former: JSONValue?
        /// Nil if it was removed.
        let value: JSONValue?

        private var kind: (name: String, sign: String) {
            switch (former, value) {
            case (nil, _): ("added", "+")
            case (_, nil): ("removed", "-")
            default: ("changed", "~")
            }
        }

        /// `+ NAME VALUE`, `- NAME VALUE`, or `~ NAME FORMER -> VALUE`.
        var line: String {
            let values = [former, value].compactMap { $0?.oneLine }
            return PropertyText.shown("\(kind.sign) \(name) \(values.joined(separator: " -> "))")
        }

        /// `{"change":…,"name":…,"former":…,"value":…}`.
        var json: JSONValue {
            var members = [
                ("change", JSONValue(string: kind.name)), ("name", JSONValue(string: name)),
            ]
            if let former { members.append(("former", former)) }
            if let value { members.append(("value", value)) }
            return JSONValue(object: members)
        }
    }

    /// By the bytes of the name: two texts with different bytes for the same letters are equal as
    /// text.
    private var left: [[UInt8]: JSONValue] = [:]
    private var found: [Change] = []

    /// Takes a property of the first export.
    mutating func addFirst(_ name: String, _ value: JSONValue) {
        left[Array(name.utf8)] = value
    }

    /// Takes a property of the second export, after all of the first one.
    mutating func addSecond(_ name: String, _ value: JSONValue) {
        let former = left.removeValue(forKey: Array(name.utf8))
        guard former.map({ !$0.means(value) }) ?? true else { return }
        found.append(Change(name: name, former: former, value: value))
    }

    /// All differences, by name.
    var changes: [Change] {
        let removed = left.map { name, value in
            Change(name: String(decoding: name, as: UTF8.self), former: value, value: nil)
        }
        return (found + removed).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}

/// The properties of an export that comes in pieces.
struct ExportLines {
    private var rest: [UInt8] = []
    private var end = ExportEnd()
    private var count = 0
    /// The origin of the export, for messages.
    let origin: String

    init(of origin: String) { self.origin = origin }

    mutating func feed(
        _ bytes: UnsafeRawBufferPointer,
        _ take: (_ name: String, _ value: JSONValue) -> Void
    ) throws(ClientFailure) {
        unsafe end.feed(bytes)
        var start = 0
        while let index = unsafe bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = unsafe rest + bytes[start..<index]
            (rest, start) = ([], index + 1)
            count += 1
            let value = JSONValue(line)
            if value?["end"]?.boolean == true { continue }
            guard let name = value?["name"]?.string, let value = value?["value"] else {
                throw ClientFailure(.usage, "\(origin), line \(count), is no line of an export.")
            }
            take(name, value)
        }
        unsafe rest += bytes[start...]
    }

    /// Checks that the export has its last line: otherwise missing properties would count as
    /// removed.
    func finish() throws(ClientFailure) {
        guard end.isWhole else {
            throw ClientFailure(
                .usage,
                "\(origin) is no whole export: its last line is missing."
            )
        }
    }
}
