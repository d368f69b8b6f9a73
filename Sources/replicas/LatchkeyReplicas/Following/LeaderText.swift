internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeyWatches

/// Reads the texts of a leader: the lines of an export, and a page of changes.
///
/// A leader is not trusted: its texts pass ``InputCheck``, as all input that is not from a client.
enum LeaderText {
    /// Deeper than the values of any leader, which lie some levels deeper in the text.
    private static let depthMax = InputCheck.depthMax + 8

    /// The properties of a whole export, and their revision.
    struct State {
        private(set) var properties: [Property] = []
        private(set) var revision: Revision?
        /// The error in the text, in a sentence; nil if there is none.
        private(set) var failure: String?
        private let limits: StoreLimits
        /// The received part of a line that has no end yet.
        private var line: [UInt8] = []
        private var byteCount = 0
        /// The latest revision of a property.
        private var newest: Revision = 0

        /// - Parameter limits: The limits of the store that the properties are for.
        init(_ limits: StoreLimits) {
            self.limits = limits
        }

        /// The memory that a line without an end takes.
        var heldByteCount: Int { line.count }

        /// The longest line: of a name and a value all of whose characters are escaped.
        private var lineByteCountMax: Int {
            6 * (PropertyName.byteCountMax + limits.valueByteCountMax) + 256
        }

        /// Takes more bytes of the export.
        mutating func feed(_ bytes: UnsafeRawBufferPointer) {
            var rest = unsafe bytes[...]
            while failure == nil, let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n")) {
                unsafe add(rest[..<end])
                unsafe rest = rest[(end + 1)...]
                take()
                line.removeAll(keepingCapacity: true)
            }
            unsafe add(rest)
        }

        private mutating func add(_ part: Slice<UnsafeRawBufferPointer>) {
            guard failure == nil else { return }
            guard unsafe line.count + part.count <= lineByteCountMax else {
                failure = StoreLimits.failure("max-body-bytes")
                return
            }
            unsafe line.append(contentsOf: part)
        }

        private mutating func take() {
            guard failure == nil else { return }
            let line = line
            let found = LeaderText.reading(line) { text in
                revision == nil && read(LeaderText.members(text))
            }
            if found != true, failure == nil {
                failure = "The export of the leader cannot be read."
            }
        }

        /// Whether a line is the next one of an export.
        private mutating func read(_ members: [String: JSONView]) -> Bool {
            if members["end"] != nil {
                revision = LeaderText.revision(members["revision"]).flatMap {
                    $0 >= newest ? $0 : nil
                }
                return revision != nil && members["count"]?.integer == Int64(properties.count)
            }
            guard let property = LeaderText.property(members), follows(property) else {
                return false
            }
            byteCount += property.byteCount
            failure = limits.failure(properties.count + 1, byteCount, property)
            newest = max(newest, property.revision)
            properties.append(property)
            return failure == nil
        }

        /// Whether the name is after that of the last line: so each name comes once.
        private func follows(_ property: Property) -> Bool {
            guard let last = properties.last else { return true }
            return unsafe last.nameBytes.lexicographicallyPrecedes(property.nameBytes)
        }
    }

    struct Changes {
        let commits: [StoredCommit]
        /// The leader's latest revision.
        let latest: Revision
        /// All commits up to this revision are here.
        let next: Revision

        /// Whether the page can follow a revision: it has commits, unless there is nothing more.
        func follows(_ revision: Revision) -> Bool {
            next >= revision && latest >= next && (!commits.isEmpty || next == latest)
        }
    }

    static func changes(_ body: [UInt8]) -> Changes? {
        reading(body) { page in
            let page = self.members(page)
            guard let latest = self.revision(page["revision"]),
                let next = self.revision(page["next"]),
                let list = page["changes"]
            else { return nil }
            var commits: [StoredCommit] = []
            for change in list.elements {
                guard let commit = self.commit(members(change)) else { return nil }
                commits.append(commit)
            }
            return Changes(commits: commits, latest: latest, next: next)
        } ?? nil
    }

    private static func commit(_ change: [String: JSONView]) -> StoredCommit? {
        guard let revision = self.revision(change["revision"]), let list = change["effects"],
            let time = change["milliseconds"]?.integer.flatMap({ InputCheck.time($0) })
        else { return nil }
        var effects: [StoredEffect] = []
        var names: Set<PropertyName> = []
        for element in list.elements {
            guard let effect = effect(members(element), at: revision),
                names.insert(effect.name).inserted
            else { return nil }
            effects.append(effect)
        }
        return StoredCommit(revision: revision, time: time, effects: effects)
    }

    private static func effect(
        _ members: [String: JSONView],
        at revision: Revision
    ) -> StoredEffect? {
        guard let type = members["type"]?.string, let name = members["name"].flatMap(self.name)
        else { return nil }
        let reason: Commit.Reason? =
            switch type {
            case "put": .requested
            case "touch": .touched
            case "expire": .expired
            case "delete":
                members["reason"]?.string == Commit.Reason.evicted.text ? .evicted : .requested
            default: nil
            }
        guard let reason else { return nil }
        guard type == "put" || type == "touch" else {
            return StoredEffect(name: name, property: nil, reason: reason)
        }
        // A property whose time to live starts again keeps its revision.
        guard let property = property(members), property.revision <= revision,
            (property.revision == revision) == (reason == .requested)
        else { return nil }
        return StoredEffect(name: name, property: property, reason: reason)
    }

    private static func property(_ members: [String: JSONView]) -> Property? {
        guard let name = members["name"].flatMap(self.name),
            let revision = members["revision"]?.integer,
            let created = members["created"]?.integer
        else { return nil }
        let expiry = members["expires"]?.integer
        guard (members["expires"] == nil) == (expiry == nil) else { return nil }
        func made(_ value: UnsafeRawBufferPointer) -> Property? {
            unsafe InputCheck.property(
                name,
                value,
                revision: revision,
                created: created,
                expiry: expiry
            )
        }
        if let value = members["value"] {
            return unsafe made(value.bytes)
        }
        guard let text = members["text"]?.unescaped() else { return nil }
        return unsafe text.withUnsafeBytes { unsafe made($0) }
    }

    private static func name(_ text: JSONView) -> PropertyName? {
        (try? PropertyName(text, owner: nil))?.copy()
    }

    private static func revision(_ number: JSONView?) -> Revision? {
        number?.integer.flatMap { InputCheck.revision($0) }
    }

    private static func members(_ object: JSONView) -> [String: JSONView] {
        var members: [String: JSONView] = [:]
        for (name, value) in object.members {
            if let name = name.string { members[name] = value }
        }
        return members
    }

    /// Lends a view of a text, if that is JSON.
    private static func reading<Result>(
        _ text: [UInt8],
        _ body: (JSONView) -> Result
    ) -> Result? {
        unsafe text.withUnsafeBytes { bytes in
            do {
                try unsafe JSONText.check(bytes, depthMax: depthMax)
            } catch {
                return nil
            }
            return unsafe body(JSONView(bytes))
        }
    }
}

extension StoreLimits {
    /// Why a store cannot have this many properties and bytes, and this new property, in a
    /// sentence; nil if it can.
    func failure(_ propertyCount: Int, _ byteCount: Int, _ property: Property?) -> String? {
        let flag: String? =
            if propertyCount > propertyCountMax {
                "max-properties"
            } else if byteCount > byteCountMax {
                "max-bytes"
            } else if unsafe property?.valueBytes.count ?? 0 > valueByteCountMax {
                "max-body-bytes"
            } else {
                nil
            }
        return flag.map(Self.failure)
    }

    fileprivate static func failure(_ flag: String) -> String {
        "The leader has more than this service's --\(flag) allows. Give both the same limits."
    }
}
