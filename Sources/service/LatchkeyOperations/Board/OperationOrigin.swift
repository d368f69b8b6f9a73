package import LatchkeyStore

/// The request that submitted an operation.
package struct OperationOrigin: Sendable {
    /// The address of the client.
    package let address: String
    /// The request's field `traceparent` (W3C Trace Context), if it had a valid one; steps that
    /// fetch send it on.
    package let traceparent: String?

    package init(address: String, traceparent: String?) {
        self.address = address
        self.traceparent = traceparent
    }
}

/// A write of a step of an operation, or a failed one.
package struct OperationWrite: Sendable {
    package enum Outcome: Sendable {
        case committed(Commit)
        /// Puts of an import step, at its end.
        case imported(Int, Revision)
        case failed(OperationFailure)
    }

    package let id: OperationID
    package let owner: String?
    package let origin: OperationOrigin?
    /// The name of the property; nil if a step writes several.
    ///
    /// It borrows the memory of the operation.
    package let name: PropertyName?
    package let outcome: Outcome
}
