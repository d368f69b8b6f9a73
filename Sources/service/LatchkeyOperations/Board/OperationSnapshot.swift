package import LatchkeyStore

/// An operation as it is shown, at one moment.
package struct OperationSnapshot: Sendable {
    package let id: OperationID
    /// The name of its submitter, if that is known.
    package let owner: String?
    package let name: String?
    package let priority: OperationPriority
    package let dependencies: [OperationID]
    package internal(set) var state: OperationState
    /// From 0 to 1.
    ///
    /// It never becomes less.
    package internal(set) var progress: Double = 0
    /// The step that is being made, or was made last; 0 before the first one.
    package internal(set) var step = 0
    package internal(set) var stepCount: Int
    package let created: Timestamp
    package internal(set) var started: Timestamp?
    package internal(set) var ended: Timestamp?
    /// The value of the last step, once the operation is finished.
    package internal(set) var value: OperationValue?
    /// The reason why a step failed, or the operation was cancelled.
    package internal(set) var failure: OperationFailure?
}

/// A change of an operation that its observers are told.
package struct OperationEvent: Sendable {
    package enum Kind: String, Sendable {
        case state
        case progress
    }

    /// 1 for the first event of the operation, one more for each further one.
    package let number: UInt64
    package let kind: Kind
    package let operation: OperationSnapshot
}

/// How many operations there are.
package struct OperationCounts: Sendable {
    /// By state, those that are kept in the history included.
    package internal(set) var byState: [OperationState: Int] = [:]
    /// By final state, since the start.
    package internal(set) var totalByOutcome: [OperationState: UInt64] = [:]
}

/// A part of the list of operations.
package struct OperationPage: Sendable {
    /// The newest first.
    package let operations: [OperationSnapshot]
    /// Where the next page begins; nil if this is the last one.
    package let next: UInt64?

    package init(operations: [OperationSnapshot], next: UInt64?) {
        self.operations = operations
        self.next = next
    }
}
