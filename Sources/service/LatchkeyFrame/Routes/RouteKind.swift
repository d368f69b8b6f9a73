/// The kind of a route, by which the steps of its requests are chosen.
package enum RouteKind: CaseIterable, Sendable {
    /// A probe, which is also served on connections over a limit.
    case probe
    /// Reads or changes state of this service alone: no replica has it from its leader.
    case local
    /// Reads the store. Clients can say how new the state must be, so the handler must ask for the
    /// query with ``ServiceRequest/query(_:)``.
    case read
    /// Changes state. Clients can repeat the request with an `Idempotency-Key`: the answer must be
    /// made with ``ServiceRequest``, and must not be a stream.
    case change
    /// Changes state, and ignores keys.
    case unkeyedChange
    /// The same, with a body that is read as it comes.
    case streamedChange

    /// Statuses that have counters of their own, whichever steps there are.
    ///
    /// All but probes are refused if too many answers wait, and a change can have an unknown
    /// outcome, or meet a full disk. Alerts read these.
    package var statuses: [UInt16] {
        switch self {
        case .probe: []
        case .local: [503]
        case .read: [400, 429, 503]
        case .change: [400, 422, 429, 500, 503, 507]
        case .unkeyedChange, .streamedChange: [500, 503, 507]
        }
    }
}
