internal import Dispatch
package import LatchkeyFrame
package import LatchkeyHTTP

/// Decides whether a request is served, by its sender, its rate, and the need of its route.
///
/// **Design.** A request beyond its client's rate is answered a moment later, by a queue of its
/// own, so that the connections of a client that does not wait limit its refusals. A request whose
/// body is still to come cannot wait: its connection is closed after the answer.
package struct Admission: Sendable {
    /// Nil if every client may do everything.
    private let access: AccessControl?
    /// Nil without a limit on the rate.
    private let rate: RateLimit?

    /// The maximum of connections of a token, for the message that refuses one more.
    private let connectionCountMax: Int

    private static let queue = DispatchQueue(label: "latchkey.refusals")
    /// Far less than a client is told to wait, and so long that a connection gets at most ten
    /// refusals a second.
    private static let refusalDelay = DispatchTimeInterval.milliseconds(100)

    package init(access: AccessControl? = nil, rate: RateLimit? = nil, connectionCountMax: Int = 0)
    {
        self.access = access
        self.rate = rate
        self.connectionCountMax = connectionCountMax
    }

    /// Whether every request is served.
    package var isOpen: Bool { access == nil && rate == nil }

    /// The caller of a request before its sender is known.
    package var unknown: Caller { access == nil ? .anybody : .unknown }

    /// The statuses of requests that are not served.
    package var statuses: [UInt16] {
        (access == nil ? [] : [401, 403]) + (access == nil && rate == nil ? [] : [429])
    }

    /// The steps of requests: those of the admission, then those of a replica and of repeats.
    ///
    /// - Parameters:
    ///   - leader: Refuses changes that only the leader can make; nil if the service leads.
    ///   - repetition: Nil if `Idempotency-Key` is switched off.
    /// - Returns: The steps, without those of reads.
    package func steps(leader: (any RequestStep)?, repetition: (any RequestStep)?) -> RouteSteps {
        let changes: [RouteKind] = [.change, .unkeyedChange, .streamedChange]
        var steps = RouteSteps()
        // Decided now, so that an open service pays for no check.
        if !isOpen {
            steps.unknown = unknown
            steps.refusesUnmatched = { refusesRate(ofUnmatched: $0) }
            steps.append(AtHead(admission: self), to: RouteKind.allCases, at: .head)
            steps.append(self, to: RouteKind.allCases)
        }
        if let leader {
            // Requests whose heads are checked in any case are refused there.
            steps.append(leader, to: isOpen ? [.streamedChange] : changes, at: .head)
            steps.append(leader, to: changes)
        }
        if let repetition { steps.append(repetition, to: [.change]) }
        return steps
    }

    /// Whether a request that no route answers is beyond its client's rate; then it is answered.
    private func refusesRate(ofUnmatched request: ServiceRequest) -> Bool {
        var request = request
        if case .caller(let caller, _)? = access?.caller(of: request.exchange) {
            request.caller = caller
        }
        return refusesRate(of: request)
    }

    private func refusesRate(of request: ServiceRequest) -> Bool {
        guard let rate, let nanoseconds = rate.take(request.client) else { return false }
        guard request.exchange.isWhole else {
            request.exchange.closeBehindAnswer()
            request.fail(.rateExceeded(nanoseconds))
            return true
        }
        // Not at once: a client that does not wait would take the service's time with refusals.
        Self.queue.asyncAfter(deadline: .now() + Self.refusalDelay) {
            request.fail(.rateExceeded(nanoseconds))
        }
        return true
    }

    /// Whether the request may use a route; else it is answered.
    ///
    /// - Parameters:
    ///   - request: The request, which gets its caller.
    ///   - need: The right that the route requires.
    ///   - counts: Whether the request counts for its client's rate.
    ///   - isShared: Whether it is refused on a connection over its client's share.
    /// - Returns: Whether the route's handler answers it.
    fileprivate func admits(
        _ request: inout ServiceRequest,
        _ need: RouteNeed,
        counts: Bool,
        isShared: Bool
    ) -> Bool {
        guard let access else { return !(counts && refusesRate(of: request)) }
        let identification = access.caller(of: request.exchange)
        if case .caller(let caller, _) = identification {
            request.caller = caller
            guard !isShared || request.exchange.belongs(to: request.client) else {
                request.fail(
                    .shareTaken(
                        "\(connectionCountMax) connections (--max-connections-per-address)"
                    )
                )
                return false
            }
        }
        if counts, refusesRate(of: request) { return false }
        guard access.isAsked(need) else { return true }
        guard case .caller(let caller, _) = identification else {
            request.fail(identification)
            return false
        }
        if case .right(let right) = need, !caller.allows(right) {
            request.fail(.forbidden(right, caller))
            return false
        }
        return true
    }
}

extension Admission: RequestStep {
    package func takes(
        _ request: inout ServiceRequest,
        _ match: RouteMatch,
        _ route: RouteHandler
    ) -> Bool {
        // A request with a body in pieces was admitted with its head, and reports its own result.
        guard request.exchange.bodyReader == nil else { return false }
        let counts = route.isShared && !(route.checksHead && request.exchange.hasPassedHead)
        return !admits(&request, route.need, counts: counts, isShared: route.isShared)
    }

    /// The same for requests whose body is still to come.
    private struct AtHead: RequestStep {
        let admission: Admission

        var statuses: [UInt16] { admission.statuses }

        func takes(
            _ request: inout ServiceRequest,
            _ match: RouteMatch,
            _ route: RouteHandler
        ) -> Bool {
            // Other requests are counted when their body is there, and can wait.
            !admission.admits(
                &request,
                route.need,
                counts: route.checksHead,
                isShared: route.isShared
            )
        }
    }
}

extension AccessControl {
    /// Whether a route with this need asks for a token.
    fileprivate func isAsked(_ need: RouteNeed) -> Bool {
        switch need {
        case .nothing: false
        case .tokenUnless(let page): !isOpen(page)
        case .token, .tokenAgain, .right: true
        }
    }
}

extension ServiceRequest {
    /// Answers a request whose sender is not known (RFC 6750, section 3).
    package func fail(_ identification: Identification) {
        let detail: String? =
            switch identification {
            case .caller, .unnamed: nil
            case .malformed: "Authorization must be Bearer and one token."
            case .badCertificate:
                "The client's certificate is not of --tls-client-ca, has ended, is not for "
                    + "clients, or has no common name."
            case .unknownCertificate:
                "The common name of the client's certificate is no name in --token-file."
            case .unknown: "This token is not in --token-file, or it is incomplete."
            }
        fail(.unauthorized, detail: detail)
    }
}
