/// Properties as lines for people and for scripts.
package enum PropertyText {
    /// The JSON object of a property that was answered on its own.
    package static func object(_ name: String, _ answer: ClientAnswer) -> JSONValue? {
        guard let value = answer.json else { return nil }
        var members = [("name", JSONValue(string: name))]
        if let revision = answer.revision {
            members.append(("revision", JSONValue(revision)))
        }
        for (member, field) in [("created", "latchkey-created"), ("ttl", "latchkey-ttl")] {
            let number = answer.field(field).flatMap { JSONValue(Array($0.utf8)) }
            if let number { members.append((member, number)) }
        }
        return JSONValue(object: members + [("value", value)])
    }

    /// Names and values in two columns, each property in a line.
    ///
    /// - Parameters:
    ///   - rows: The properties; a missing value is left out.
    ///   - width: The columns of the terminal, beyond which a line is cut; nil for whole lines.
    /// - Returns: The lines.
    package static func table(_ rows: [(name: String, value: JSONValue?)], width: Int?) -> String {
        let nameWidth = rows.map { $0.name.count }.max() ?? 0
        return rows.map { row in
            let value = row.value?.oneLine ?? ""
            let space = String(repeating: " ", count: nameWidth - row.name.count + 2)
            let line = value.isEmpty ? row.name : row.name + space + value
            return cut(shown(line), width) + "\n"
        }.joined()
    }

    private static func cut(_ line: String, _ width: Int?) -> String {
        guard let width, line.count > width, width > 1 else { return line }
        return line.prefix(width - 1) + "…"
    }

    /// Without characters that control a terminal: names and JSON can have those of the second
    /// set (U+0080 to U+009F).
    package static func shown(_ line: String) -> String {
        guard line.unicodeScalars.contains(where: isControl) else { return line }
        var scalars = String.UnicodeScalarView()
        for scalar in line.unicodeScalars {
            scalars.append(isControl(scalar) ? "\u{FFFD}" : scalar)
        }
        return String(scalars)
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control
    }

    /// The line of an event of a watch: what happened, the name and the value.
    package static func line(of event: StreamEvent) -> String {
        guard let data = event.json else { return event.type }
        var words = [event.type]
        if let name = data["name"]?.string { words.append(name) }
        if let value = data["value"] { words.append(value.oneLine) }
        if event.type == "gap" || event.type == "ready" {
            words += [data["revision"]?.text ?? ""]
        }
        return shown(words.joined(separator: " "))
    }

    /// The JSON object of an event of a watch, in one line.
    package static func object(of event: StreamEvent) -> JSONValue {
        let id = event.id.isEmpty ? [] : [("id", JSONValue(string: event.id))]
        let members = [("event", JSONValue(string: event.type))] + id
        return JSONValue(object: members + (event.json?.members ?? []).map { ($0.name, $0.value) })
    }
}
