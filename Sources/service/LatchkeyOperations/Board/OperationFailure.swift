package import LatchkeyStore

/// The reason why a step or a whole operation failed.
package enum OperationFailure: Error, Sendable {
    /// The store refused a step.
    case refused(Refusal)
    /// The store accepts no more writes at the moment.
    case backlogFull
    /// There is no such property.
    case missingProperty
    /// The step takes the previous step's value, and there is none.
    case noPreviousValue
    /// A line of an import is not valid.
    ///
    /// `imported` lines before it were applied.
    case line(Int, imported: Int, String)
    /// The value to import is neither a text nor an array.
    case notLines
    /// The owner of the operation may not make the step, with the reason as a sentence.
    case notAllowed(String)
    case fetch(FetchFailure)
    /// The comparison could not be made, with a sentence that says why.
    case comparison(String)
    /// This operation, on which the failed one depends, failed or was cancelled.
    case dependency(OperationID)
    /// The step was asked to stop.
    ///
    /// This ends the operation as cancelled, and is not shown as its failure.
    case cancelled
}

/// The reason why operations were not accepted.
package enum OperationRefusal: Error, Hashable, Sendable {
    /// An operation has this identifier already.
    case exists(OperationID)
    /// No operation has this identifier.
    case unknownDependency(OperationID)
    case cycle
    /// As many operations are queued or executing as there may be.
    case tooMany
    /// The operations take as much memory as they may.
    case tooManyBytes
    case draining
}
