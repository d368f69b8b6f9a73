package import LatchkeyFrame
package import LatchkeyStore

/// The parts of events besides names and revisions.
package struct EventForm: Hashable, Sendable {
    package var showsValue = true
    /// Whether events have the previous value.
    package var showsPrevious = false

    /// The number of the form: one of four, from 0.
    var number: Int { (showsValue ? 1 : 0) + (showsPrevious ? 2 : 0) }

    package init() {}
}

/// The properties that a watcher follows: names, and prefixes of names.
///
/// No name is matched by two of its parts, and the parts are in the order of the names. Watchers
/// with the same filter get the same bytes.
package struct WatchFilter: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case name([UInt8])
        /// An empty prefix is that of all names.
        case prefix([UInt8])

        package func matches(_ name: UnsafeRawBufferPointer) -> Bool {
            switch self {
            case .name(let wanted): unsafe name.elementsEqual(wanted)
            case .prefix(let prefix): unsafe name.starts(with: prefix)
            }
        }

        /// The bytes that all names have at their begin.
        package var prefix: [UInt8] {
            switch self {
            case .name(let bytes), .prefix(let bytes): bytes
            }
        }

        /// Whether all names of another part match.
        fileprivate func covers(_ other: Part) -> Bool {
            switch self {
            case .name: self == other
            case .prefix(let prefix): other.prefix.starts(with: prefix)
            }
        }
    }

    package let parts: [Part]
    /// The parts of events besides names and revisions.
    package var form = EventForm()
    /// The kinds of changes that are events.
    ///
    /// The current state is sent whatever they are.
    package var kinds = EffectKinds.all
    /// A pattern that names have to match, too.
    package var pattern: NamePattern?

    /// The prefixes of matching names: each name begins with one of them.
    var beginnings: [[UInt8]] { parts.map(\.prefix) }

    package init(_ wanted: [Part]) {
        var parts: [Part] = []
        // A prefix comes before the names that it covers, and before the same name.
        for part in wanted.sorted(by: Self.precedes) where parts.last?.covers(part) != true {
            parts.append(part)
        }
        self.parts = parts
    }

    private static func precedes(_ one: Part, _ other: Part) -> Bool {
        if one.prefix == other.prefix, case .name = other {
            return one != other
        }
        return one.prefix.lexicographicallyPrecedes(other.prefix)
    }

    package static func name(_ name: [UInt8]) -> WatchFilter { WatchFilter([.name(name)]) }
    package static func prefix(_ prefix: [UInt8]) -> WatchFilter { WatchFilter([.prefix(prefix)]) }

    package func matches(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe parts.contains { unsafe $0.matches(name) } && fits(name)
    }

    /// Whether a watcher gets an event of the effect.
    package func matches(_ effect: Commit.Effect) -> Bool {
        unsafe effect.isEvent && kinds.contains(EffectKinds(effect.kind))
            && matches(effect.nameBytes)
    }

    /// Whether a name that one of the parts matches fits the pattern, too.
    func fits(_ name: UnsafeRawBufferPointer) -> Bool {
        unsafe pattern?.matches(name) ?? true
    }

    package func isAllowed(to caller: Caller) -> Bool {
        !caller.isRevoked && parts.allSatisfy { caller.allows(.read, prefix: $0.prefix) }
    }
}
