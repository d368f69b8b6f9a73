/// The state of an operation.
package enum OperationState: String, CaseIterable, Sendable {
    /// It waits for its delay or its dependencies.
    case pending
    /// It waits for a place among those that execute.
    case ready
    case executing
    /// All steps were made, or those of `catch` after an error.
    case finished
    /// A step failed, and `catch` failed too or is not there.
    case failed
    case cancelled

    /// Whether the state is the last one.
    package var isFinal: Bool {
        switch self {
        case .pending, .ready, .executing: false
        case .finished, .failed, .cancelled: true
        }
    }
}

/// How urgent an operation is among those that are ready.
package enum OperationPriority: String, CaseIterable, Sendable {
    case veryLow = "very-low"
    case low
    case normal
    case high
    case veryHigh = "very-high"
}
