package import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore

/// The origin of a watch or a long poll, and its begin.
package struct WatchVisitor: Sendable {
    let address: NetworkAddress
    let since: Timestamp

    /// The request must not be answered yet.
    package init(_ request: ServiceRequest) {
        self.init(address: request.exchange.clientAddress, since: StoreClock.system.now())
    }

    init(address: NetworkAddress, since: Timestamp) {
        self.address = address
        self.since = since
    }
}

/// Some of the watches and long polls there are, in the order of their identifiers.
struct WatchList: Sendable {
    struct Entry: Sendable {
        enum State: String, Sendable {
            /// It has everything that there is.
            case live
            /// It is being sent earlier changes.
            case behind
            /// Its client does not read its events.
            case blocked
            /// A long poll, or a transaction that waits.
            case waiting
        }

        let id: UInt64
        let state: State
        let filter: WatchFilter
        /// Without the name of the token.
        let observer: [UInt8]?
        let token: String?
        let visitor: WatchVisitor?
        /// All changes up to this revision were handed over for it, or do not match.
        let revision: Revision
        let unsentByteCount: Int
    }

    let entries: [Entry]
    /// How many watches and long polls there are.
    let count: Int
    let hasMore: Bool
}

extension WatchPump {
    /// Lists the watches and long polls with greater identifiers than this one.
    ///
    /// Takes some milliseconds of the pump's time if there are tens of thousands.
    func list(after id: UInt64, countMax: Int) -> WatchList {
        let open = watchers.values.filter { !$0.isOver }
        let ids = (open.map(\.id) + waits.keys).filter { $0 > id }.sorted()
        return WatchList(
            entries: ids.prefix(countMax).compactMap(entry),
            count: open.count + waits.count,
            hasMore: ids.count > countMax
        )
    }

    private func entry(_ id: UInt64) -> WatchList.Entry? {
        watchers[id].map(entry)
            ?? waits[id].map { wait in
                WatchList.Entry(
                    id: id,
                    state: .waiting,
                    filter: wait.shownFilter ?? wait.filter,
                    observer: nil,
                    token: wait.caller.name,
                    visitor: wait.visitor,
                    // A wait in a line is for its turn, not for a commit.
                    revision: wait.since == .max ? position : max(wait.since, position),
                    unsentByteCount: 0
                )
            }
    }

    private func entry(_ watcher: Watcher) -> WatchList.Entry {
        let isLive = watcher.index != nil
        // A scoped text is the token's name, a zero and the client's own text.
        let observer = watcher.observer.map { Array($0.split(separator: 0).last ?? []) }
        return WatchList.Entry(
            id: watcher.id,
            state: isLive ? .live : watcher.isFull ? .blocked : .behind,
            filter: watcher.filter,
            observer: observer,
            token: watcher.caller.name,
            visitor: watcher.visitor,
            revision: isLive ? max(position, watcher.place.revision) : watcher.place.revision,
            unsentByteCount: watcher.output.unsentByteCount
        )
    }
}

extension WatchList {
    /// The answer to `GET /v1/watches`.
    var json: JSONWriter {
        var json = JSONWriter()
        json.object { page in
            page.member("count", count)
            page.array("watches") { list in
                for entry in entries {
                    list.object { entry.write(to: &$0) }
                }
            }
            if hasMore, let last = entries.last {
                page.member("next", last.id)
            }
        }
        return json
    }
}

extension WatchList.Entry {
    fileprivate func write(to json: inout JSONWriter) {
        json.member("id", id)
        json.member("kind", state == .waiting ? "poll" : "watch")
        json.array("prefixes") { list in
            for prefix in filter.prefixes { list.string(prefix) }
        }
        json.array("names") { list in
            for name in filter.names { list.string(name) }
        }
        if let pattern = filter.pattern { json.member("match", pattern.text) }
        if let observer {
            json.member("observer", String(decoding: observer, as: UTF8.self))
        }
        if let token {
            json.member("token", token)
        }
        if let visitor {
            json.member("address", visitor.address.text)
            json.member("since", visitor.since.calendarText)
        }
        json.member("revision", revision)
        json.member("bufferedBytes", unsentByteCount)
        json.member("state", state.rawValue)
    }
}

extension WatchFilter {
    /// The watched prefixes.
    fileprivate var prefixes: [[UInt8]] {
        parts.compactMap { if case .prefix(let prefix) = $0 { prefix } else { nil } }
    }

    /// The watched names.
    fileprivate var names: [[UInt8]] {
        parts.compactMap { if case .name(let name) = $0 { name } else { nil } }
    }
}
