internal import LatchkeyStore

/// What a leader sends, read: the lines of an export, and a page of changes.
///
/// Nil where the text is not what a leader of this version sends.
enum LeaderText {
    /// The properties of a whole export, and their revision.
    struct State {
        var properties: [Property] = []
        var revision: Revision?
        private var line: [UInt8] = []
        private(set) var isBroken = false

        /// Takes more bytes of the export.
        mutating func feed(_ bytes: UnsafeRawBufferPointer) {
            var rest = unsafe bytes[...]
            while let end = unsafe rest.firstIndex(of: UInt8(ascii: "\n")) {
                unsafe line.append(contentsOf: rest[..<end])
                unsafe rest = rest[(end + 1)...]
                take()
                line.removeAll(keepingCapacity: true)
            }
            unsafe line.append(contentsOf: rest)
        }

        private mutating func take() {
            let line = line
            let isRight = LeaderText.reading(line) { text in
                let members = LeaderText.members(text)
                if members["end"] != nil {
                    let count = members["count"]?.integer
                    revision = LeaderText.revision(members["revision"])
                    return revision != nil && count == Int64(properties.count)
                }
                guard let property = LeaderText.property(members) else { return false }
                properties.append(property)
                return true
            }
            isBroken = isBroken || isRight != true
        }
    }

    struct Changes {
        let commits: [StoredCommit]
        /// The leader's latest revision.
        let latest: Revision
        /// All commits up to this revision are here.
        let next: Revision
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
            let time = change["milliseconds"]?.integer
        else { return nil }
        var effects: [StoredEffect] = []
        for element in list.elements {
            let members = self.members(element)
            guard let type = members["type"]?.string else { return nil }
            let isThere = type == "put" || type == "touch"
            if members["revision"] == nil, isThere { return nil }
            guard let name = members["name"].flatMap(LeaderText.name) else { return nil }
            let property = isThere ? LeaderText.property(members) : nil
            let reason: Commit.Reason? =
                switch type {
                case "put": .requested
                case "touch": .touched
                case "expire": .expired
                case "delete":
                    members["reason"]?.string == Commit.Reason.evicted.text ? .evicted : .requested
                default: nil
                }
            guard let reason, !isThere || property != nil else { return nil }
            effects.append(StoredEffect(name: name, property: property, reason: reason))
        }
        return StoredCommit(
            revision: revision,
            time: Timestamp(milliseconds: time),
            effects: effects
        )
    }

    private static func property(_ members: [String: JSONView]) -> Property? {
        guard let name = members["name"].flatMap(self.name),
            let revision = self.revision(members["revision"]),
            let created = self.revision(members["created"])
        else { return nil }
        let expiry: Timestamp
        if let expires = members["expires"] {
            guard let milliseconds = expires.integer else { return nil }
            expiry = Timestamp(milliseconds: milliseconds)
        } else {
            expiry = .never
        }
        func made(_ value: UnsafeRawBufferPointer) -> Property {
            unsafe Property(
                name: name,
                value: value,
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
        number?.integer.flatMap { Revision(exactly: $0) }
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

    /// Beyond the values of any leader, which lie in two or three levels more.
    private static let depthMax = 4096
}
