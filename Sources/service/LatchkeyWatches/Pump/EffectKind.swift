package import LatchkeyStore

/// What an effect is called in events and in lists of changes.
package enum EffectKind: String, CaseIterable, Sendable {
    case put
    case delete
    case expire
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
    /// Why a property was deleted, in events and in lists of changes.
    package var text: String { self == .evicted ? "evicted" : "deleted" }
}
