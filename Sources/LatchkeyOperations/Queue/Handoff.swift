internal import LatchkeySync

/// Finds out whether something completed before the call that began it returned.
///
/// **Design.** The one of the two that comes second goes on: so what completes at once is made in a
/// loop, and not one inside the other.
final class Handoff<Outcome: Sendable>: Sendable {
    enum Order {
        case atOnce
        case later
    }

    private struct Contents {
        var outcome: Outcome?
        var hasLeft = false
    }

    private let contents = Guarded<Contents>(Contents())

    /// Keeps the outcome for ``leave()``, unless that was called already.
    func complete(_ outcome: Outcome) -> Order {
        contents.write { contents in
            contents.outcome = outcome
            return contents.hasLeft ? .later : .atOnce
        }
    }

    /// The outcome, if it is there already.
    func leave() -> Outcome? {
        contents.write { contents in
            contents.hasLeft = true
            return contents.outcome
        }
    }
}
