// Steps of transactions as JSON, as clients send them.

package import LatchkeyJSON

extension Change.Step {
    /// The kinds of steps, and their other members.
    private static let memberNames: [StaticString] = [
        "put", "merge", "increment", "delete", "get", "value", "patch", "by", "ttl", "touch", "pop",
        "delete-prefix", "count", "ttl-if-new", "claim",
    ]

    /// The places of the members.
    private enum Member: Int {
        case put, merge, increment, delete, get, value, patch, by, ttl, touch, pop, deletePrefix
        case count, ttlIfNew, claim

        var bit: UInt16 { 1 << UInt16(rawValue) }
    }

    /// The bits of the kinds.
    private static let kinds: UInt16 =
        (1 << 5) - 1 | Member.touch.bit | Member.pop.bit | Member.deletePrefix.bit
        | Member.count.bit

    /// The maximum of properties that one step deletes.
    package static let deletedCountMax = 1000

    /// Reads a step, such as `{"put":"a","value":1,"ttl":60}` or `{"get":"a"}`.
    ///
    /// - Parameters:
    ///   - json: The step, whose bytes it borrows.
    ///   - previous: The value for a put, or the patch for a merge, that has none itself.
    /// - Throws: ``InvalidTransaction`` if it is not a step.
    package init(
        _ json: JSONView,
        previous: JSONView? = nil
    ) throws(InvalidTransaction) {
        var cursor = JSONCursor(json)
        try self.init(&cursor, previous: previous)
    }

    /// Reads the step at the cursor.
    init(
        _ json: inout JSONCursor,
        previous: JSONView? = nil
    ) throws(InvalidTransaction) {
        let names = Self.memberNames
        var members = JSONMembers()
        try json.read(names, "A step", into: &members)
        let place = (members.places & Self.kinds).trailingZeroBitCount
        guard (members.places & Self.kinds).nonzeroBitCount == 1, let name = members[place],
            let kind = Member(rawValue: place)
        else {
            throw InvalidTransaction(
                "A step has one of put, merge, increment, delete, get, touch, pop, delete-prefix "
                    + "and count, with a name."
            )
        }
        let others = members.places & ~kind.bit & ~Self.companions(of: kind)
        guard others == 0 else {
            let other = names[others.trailingZeroBitCount]
            throw InvalidTransaction("\(names[place]) has no member \(other).")
        }
        let isOnlyIfNew = members.has(Member.ttlIfNew.rawValue)
        let ttl = try Self.ttl(&members, isOnlyIfNew: isOnlyIfNew)
        let action = try Self.action(kind, &members, previous, ttl)
        let property = try PropertyName(member: name)
        if case .pop(let claim?) = action, claim.isMixed(with: property) {
            throw InvalidTransaction(
                "Neither of the prefixes of pop and claim may begin the other."
            )
        }
        self.init(property, action, ttl: ttl, isOnlyIfNew: isOnlyIfNew)
    }

    /// The bits of the other members that a step of a kind can have.
    private static func companions(of kind: Member) -> UInt16 {
        let ttl = Member.ttl.bit | Member.ttlIfNew.bit
        return switch kind {
        case .put: Member.value.bit | ttl
        case .merge: Member.patch.bit | ttl
        case .increment: Member.by.bit | ttl
        case .touch: Member.ttl.bit
        case .pop: Member.claim.bit | Member.ttl.bit | Member.value.bit
        default: 0
        }
    }

    // The members are passed as `inout`, because they are long to copy.

    private static func ttl(
        _ members: inout JSONMembers,
        isOnlyIfNew: Bool
    ) throws(InvalidTransaction) -> TimeToLive? {
        guard let seconds = members[(isOnlyIfNew ? Member.ttlIfNew : .ttl).rawValue] else {
            return nil
        }
        guard !isOnlyIfNew || !members.has(Member.ttl.rawValue) else {
            throw InvalidTransaction("A step has ttl or ttl-if-new, not both.")
        }
        guard let ttl = TimeToLiveText.milliseconds(seconds) else {
            throw InvalidTransaction(
                "\(isOnlyIfNew ? "ttl-if-new" : "ttl") \(TimeToLiveText.rule)."
            )
        }
        return ttl
    }

    private static func action(
        _ kind: Member,
        _ members: inout JSONMembers,
        _ previous: JSONView?,
        _ ttl: TimeToLive?
    ) throws(InvalidTransaction) -> Change.Action {
        switch kind {
        case .put:
            guard let value = members[Member.value.rawValue] ?? previous else {
                throw InvalidTransaction("put needs a value.")
            }
            return unsafe .put(value.bytes)
        case .merge:
            guard let patch = members[Member.patch.rawValue] ?? previous else {
                throw InvalidTransaction("merge needs a patch.")
            }
            return unsafe .merge(patch.bytes)
        case .increment:
            guard let by = members[Member.by.rawValue] else {
                return .increment(by: 1)
            }
            guard let number = by.integer else {
                throw InvalidTransaction("by must be a 64-bit integer.")
            }
            return .increment(by: number)
        case .touch:
            guard ttl != nil else {
                throw InvalidTransaction("touch needs a ttl.")
            }
            return .touch
        case .pop: return .pop(try claim(&members, ttl))
        case .deletePrefix: return .deletePrefix(countMax: deletedCountMax, isWhole: true)
        case .count: return .count
        case .delete: return .delete
        default: return .get
        }
    }

    private static func claim(
        _ members: inout JSONMembers,
        _ ttl: TimeToLive?
    ) throws(InvalidTransaction) -> Change.Claim? {
        let value = members[Member.value.rawValue]
        guard let prefix = members[Member.claim.rawValue] else {
            guard ttl == nil, value == nil else {
                throw InvalidTransaction("pop has ttl and value only with claim.")
            }
            return nil
        }
        guard ttl != nil else {
            throw InvalidTransaction("A claim needs a ttl.")
        }
        let name = try PropertyName(member: prefix)
        guard let value else {
            return unsafe Change.Claim(name, value: UnsafeRawBufferPointer("null"))
        }
        return unsafe Change.Claim(name, value: value.bytes)
    }
}
