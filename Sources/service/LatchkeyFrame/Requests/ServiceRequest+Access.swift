package import LatchkeyHTTP
package import LatchkeyStore

extension RequestFailure {
    /// The failure of a request whose token was valid when it came.
    package static let revoked = RequestFailure(.unauthorized, "The token was revoked.")

    /// The failure of a client that may send its request after this time.
    package static func rateExceeded(_ nanoseconds: UInt64) -> RequestFailure {
        var failure = RequestFailure(.rateExceeded)
        failure.retryAfterSeconds = Int(1 + (nanoseconds - 1) / 1_000_000_000)
        return failure
    }

    /// The failure of a caller that lacks a right.
    package static func forbidden(_ right: Right, _ caller: Caller) -> RequestFailure {
        let name = caller.name ?? ""
        let scope = right.takesPrefix ? " for this name or prefix" : ""
        return RequestFailure(
            .forbidden,
            "The token of '\(name)' does not have the right \(right.rawValue)\(scope)."
        )
    }
}

extension ServiceRequest {
    /// The sender of the request, for its share of the resources that all use: the holder of a
    /// token, or else an address.
    package var client: ClientKey { caller.client ?? exchange.client }

    @inline(__always)
    package func require(_ right: Right, _ name: PropertyName) throws(RequestFailure) {
        guard caller.isAnybody || caller.allows(right, name) else {
            throw .forbidden(right, caller)
        }
    }

    package func require(_ right: Right, prefix: [UInt8]) throws(RequestFailure) {
        guard caller.allows(right, prefix: prefix) else { throw .forbidden(right, caller) }
    }

    package func require(_ transaction: Transaction) throws(RequestFailure) {
        if let right = transaction.lackedRight(of: caller) {
            throw .forbidden(right, caller)
        }
    }
}

extension Transaction {
    /// A right that the transaction needs and the caller lacks; nil if there is none.
    package func lackedRight(of caller: Caller) -> Right? {
        guard !caller.isAnybody else { return nil }
        for condition in conditions where !caller.allows(.read, condition.name) {
            return .read
        }
        for branch in [steps, otherwise] {
            for step in branch {
                if let right = step.lackedRight(of: caller) { return right }
            }
        }
        return nil
    }
}

extension Change.Step {
    /// The same for one step.
    ///
    /// A step whose result shows stored data needs the right to read it.
    package func lackedRight(of caller: Caller) -> Right? {
        if case .pop(let claim?) = action, !caller.allows(.write, claim.prefix) { return .write }
        if action.writes, !caller.allows(.write, name) { return .write }
        return action.reads && !caller.allows(.read, name) ? .read : nil
    }
}
