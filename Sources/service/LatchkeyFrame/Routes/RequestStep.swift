package import LatchkeyHTTP

/// One thing that can answer a request before its handler does, or run the handler later.
package protocol RequestStep: Sendable {
    /// Statuses that it can send by itself, besides those of the kind of the route.
    var statuses: [UInt16] { get }

    /// Takes a request over, or lets it go on to the next step.
    ///
    /// - Parameters:
    ///   - request: Can be told who has sent it, and who sees its answer.
    ///   - match: What its path has matched.
    ///   - route: What the route asks for, and its handler.
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
        /// When all of the request is there, or is read as it comes.
        case request
    }

    /// Who a request's sender is before a step has found out.
    package var unknown = Caller.anybody
    /// Whether a request that matches no route is refused: then it is answered.
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
