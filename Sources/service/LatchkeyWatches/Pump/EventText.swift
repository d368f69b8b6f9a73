internal import LatchkeyFrame
internal import LatchkeyJSON
internal import LatchkeyStore

/// The server-sent events of watches.
///
/// An event of a commit has neither an id nor its empty line: those depend on the other effects of
/// the commit that a watcher gets. ``EventBatch`` adds them.
enum EventText {
    /// The last event when another watcher has taken the observer's id.
    static let replaced = ServerSentEvents.event("replaced", data: Array("{}".utf8))

    /// The end of the current state, and the begin of the changes after it.
    static func ready(_ revision: Revision) -> [UInt8] {
        let data = json { $0.member("revision", revision) }
        return ServerSentEvents.event("ready", id: "\(revision)", data: data)
    }

    /// The history after the client's cursor is lost, and the current state follows.
    static func gap(_ revision: Revision, oldest: Revision) -> [UInt8] {
        let data = json { event in
            event.member("revision", revision)
            event.member("oldest", oldest)
        }
        return ServerSentEvents.event("gap", data: data)
    }

    /// A property of the current state, whole.
    static func state(_ property: Property, at time: Timestamp, _ form: EventForm) -> [UInt8] {
        put(property, at: time, showsValue: form.showsValue) + [UInt8(ascii: "\n")]
    }

    /// An effect of a commit, without id and empty line.
    ///
    /// The previous value is left out if the property came into being.
    static func effect(
        _ effect: Commit.Effect,
        _ revision: Revision,
        at time: Timestamp,
        _ form: EventForm = EventForm()
    ) -> [UInt8] {
        let previous = form.showsPrevious && !effect.isCreation ? effect.former : nil
        if let property = effect.property {
            return put(property, previous: previous, at: time, showsValue: form.showsValue)
        }
        return event(effect.kind) { event in
            unsafe event.member("name", utf8: effect.nameBytes)
            event.member("revision", revision)
            if effect.kind == .delete {
                event.member("reason", effect.reason.text)
            }
            event.previous(previous)
        }
    }

    private static func put(
        _ property: Property,
        previous: Property? = nil,
        at time: Timestamp,
        showsValue: Bool
    ) -> [UInt8] {
        event(.put) { event in
            unsafe event.member("name", utf8: property.nameBytes)
            event.member("revision", property.revision)
            event.member("created", property.created)
            if showsValue { unsafe event.member("value", rawJSON: property.valueBytes) }
            event.ttl(until: property.expiry, at: time)
            event.previous(previous)
        }
    }

    private static func event(
        _ kind: EffectKind,
        _ members: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        ServerSentEvents.fields(kind.rawValue, data: json(members))
    }

    private static func json(_ members: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.object(members)
        return json.bytes
    }
}

extension JSONWriter {
    fileprivate mutating func previous(_ property: Property?) {
        if let property {
            unsafe member("previous", rawJSON: property.valueBytes)
        }
    }
}
