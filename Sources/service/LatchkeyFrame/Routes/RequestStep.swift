package import LatchkeyHTTP

/// One thing that can answer a request before its handler does, or run the handler later.
package protocol RequestStep: Sendable {
    /// Statuses that the step itself can send, besides those of the kind of the route.
    var statuses: [UInt16] { get }

    /// Takes a request over, or lets it go on to the next step.
    ///
    /// - Parameters:
    ///   - request: The step can set its caller and its witness.
    ///   - match: The match of its path.
    ///   - route: The needs of the route, and its handler.
    /// - Returns: Whether it is taken over: it is answered, or will be.
    func takes(
        _ request: inout ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) -> Bool
}

/// The steps of requests on the way to their handlers, by the kind of the route.
package struct RouteSteps: Sendable {
    /// When a step has a request.
    package enum Moment: Sendable {
        /// Before the body of a request that has one is read.
        case head
        /// When the whole request is there, or its body is read as it comes.
        case request
    }

    /// The caller of a request before a step has found it.
    package var unknown = Caller.anybody
    /// Refuses a request that matches no route: true if it was answered.
    package var refusesUnmatched: (@Sendable (ServiceRequest) -> Bool)?
    private var atHead: [RouteKind: [any RequestStep]] = [:]
    private var atRequest: [RouteKind: [any RequestStep]] = [:]

    package init() {}

    /// Adds a step after those that routes of these kinds have.
    package mutating func append(
        _ step: any RequestStep,
        to kinds: [RouteKind],
        at moment: Moment = .request
    ) {
        for kind in kinds {
            switch moment {
            case .head: atHead[kind, default: []].append(step)
            case .request: atRequest[kind, default: []].append(step)
            }
        }
    }

    package func of(_ kind: RouteKind, at moment: Moment) -> [any RequestStep] {
        (moment == .head ? atHead : atRequest)[kind, default: []]
    }
}
