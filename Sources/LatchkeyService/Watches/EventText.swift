internal import LatchkeyStore

/// The text of server-sent events (WHATWG HTML, "Server-sent events").
///
/// An event of a commit has neither an id nor its empty line: those depend on what else of the
/// commit a watcher gets. ``EventBatch`` adds them.
enum EventText {
    /// The first bytes of each stream: clients wait a second before they connect again.
    static let start = Array("retry: 1000\n".utf8)

    /// A keep-alive comment.
    ///
    /// Without an empty line, because some clients take each as the end of an event.
    static let keepAlive = Array(": keep-alive\n".utf8)

    /// The last event when the server stops.
    static let close = Array("event: close\ndata: {}\n\n".utf8)

    /// The last event when another watcher has taken the observer's id.
    static let replaced = Array("event: replaced\ndata: {}\n\n".utf8)

    /// An id without an event, which only moves the client's cursor.
    static func id(_ place: WatchPlace) -> [UInt8] {
        Array("id: \(place.text)\n\n".utf8)
    }

    /// The end of the current state, and the begin of the changes after it.
    static func ready(_ revision: Revision) -> [UInt8] {
        Array("event: ready\nid: \(revision)\ndata: {\"revision\":\(revision)}\n\n".utf8)
    }

    /// The history behind the client's cursor is lost, and the current state follows.
    static func gap(_ revision: Revision, oldest: Revision) -> [UInt8] {
        Array("event: gap\ndata: {\"revision\":\(revision),\"oldest\":\(oldest)}\n\n".utf8)
    }

    /// A property of the current state, whole.
    static func state(_ property: Property, at time: Timestamp) -> [UInt8] {
        put(property, at: time) + [newline]
    }

    /// An effect of a commit, without id and empty line.
    static func effect(
        _ effect: Commit.Effect,
        _ revision: Revision,
        at time: Timestamp
    ) -> [UInt8] {
        if let property = effect.property {
            return put(property, at: time)
        }
        return event(effect.kind) { event in
            unsafe event.member("name", utf8: effect.nameBytes)
            event.member("revision", revision)
            if effect.kind == .delete {
                event.member("reason", effect.reason.text)
            }
        }
    }

    private static let newline = UInt8(ascii: "\n")

    private static func put(_ property: Property, at time: Timestamp) -> [UInt8] {
        event(.put) { event in
            unsafe event.member("name", utf8: property.nameBytes)
            event.member("revision", property.revision)
            event.member("created", property.created)
            unsafe event.member("value", rawJSON: property.valueBytes)
            event.ttl(until: property.expiry, at: time)
        }
    }

    private static func event(
        _ kind: EffectKind,
        _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        var json = JSONWriter()
        json.object(members)
        let data = json.bytes
        var bytes: [UInt8] = []
        bytes.reserveCapacity(data.count + 24)
        bytes.append(contentsOf: "event: \(kind.rawValue)\ndata: ".utf8)
        let start = bytes.count
        bytes.append(contentsOf: data)
        // Line feeds and carriage returns in JSON are white space, and would end the line.
        for index in start..<bytes.count where bytes[index] == 0x0A || bytes[index] == 0x0D {
            bytes[index] = 0x20
        }
        bytes.append(newline)
        return bytes
    }
}
