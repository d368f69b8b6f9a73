package import LatchkeyHTTP
package import LatchkeyStore
package import LatchkeyStrategies

/// The effect of a request, for its lines in the audit log.
package struct AuditDetail: Sendable {
    /// The reason why the request was refused or failed.
    package var problem: Problem?
    package var commit: Commit?
    /// The operations that it submitted or cancelled.
    package var operations: [String] = []
    /// How many properties an import has put, and the last revision of it.
    package var imported: (count: Int, revision: Revision?)?
    /// The strategy before a switch, and the one after it.
    package var strategies: (from: StrategyKind, to: StrategyKind)?
    /// Whether the answer is the one to an earlier request with the same `Idempotency-Key`.
    package var isRepeat = false

    package init() {}
}

extension HTTPStatus {
    /// Whether an answer says that the client must not do this, or not so much.
    package var isRefusal: Bool {
        switch rawValue {
        case 401, 403, 421, 429, 507: true
        default: false
        }
    }
}
