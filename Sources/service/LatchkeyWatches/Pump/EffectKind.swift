package import LatchkeyStore

/// The name of an effect in events and in lists of changes.
package enum EffectKind: String, CaseIterable, Sendable {
    case put
    case delete
    case expire
}

/// Some of the kinds.
package struct EffectKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ kind: EffectKind) {
        switch kind {
        case .put: self = .put
        case .delete: self = .delete
        case .expire: self = .expire
        }
    }

    package static let put = Self(rawValue: 1)
    package static let delete = Self(rawValue: 2)
    package static let expire = Self(rawValue: 4)
    package static let all: Self = [.put, .delete, .expire]
}

extension Commit.Effect {
    package var kind: EffectKind {
        if property != nil {
            return .put
        }
        return reason == .expired ? .expire : .delete
    }
}

extension Commit.Reason {
    /// The reason for a deletion, in events and in lists of changes.
    package var text: String { self == .evicted ? "evicted" : "deleted" }
}
