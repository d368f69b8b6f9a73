/// A change that has been decided: its revision, and what it does to which property.
///
/// It never changes: one reference to it is handed from the table to the journal, the hook and the
/// answer. Its properties own their bytes.
package final class Commit: Sendable {
    package let revision: Revision
    /// When the change was decided, by the store's clock.
    ///
    /// The order of the times can differ from that of the revisions.
    package let time: Timestamp
    /// The effect on the first property that the commit changes, if there is one.
    package let first: Effect?
    /// Stored here, where there is room for it, and not beside the results.
    private let succeeded: Bool
    /// Whether the change was made before, and this is its first decision once more.
    ///
    /// It has only the parts that an answer shows.
    package let isRepeat: Bool
    /// The effects on the other properties, each once.
    package let others: [Effect]
    private let results: [Transaction.Result]?

    /// Whether the change had no effect.
    ///
    /// Then it took no revision, and ``revision`` is the latest one.
    package var isEmpty: Bool { first == nil }

    package var effects: [Effect] { (first.map { [$0] } ?? []) + others }

    var names: [PropertyName] { effects.map { PropertyName(of: $0.some) } }

    package init(
        revision: Revision,
        time: Timestamp,
        first: Effect?,
        others: [Effect] = [],
        outcome: Transaction.Outcome? = nil,
        isRepeat: Bool = false
    ) {
        self.revision = revision
        self.time = time
        self.first = first
        self.others = others
        self.isRepeat = isRepeat
        succeeded = outcome?.succeeded ?? true
        results = outcome?.results
    }

    /// The outcome of a transaction; nil for a change of one step.
    package var outcome: Transaction.Outcome? {
        results.map { Transaction.Outcome(succeeded: succeeded, results: $0) }
    }

    /// The commit as a history keeps it.
    package var withoutOutcome: Commit {
        results == nil ? self : Commit(revision: revision, time: time, first: first, others: others)
    }

    /// The effect of a commit on one property.
    package struct Effect: Sendable {
        /// The property before, if there was one.
        ///
        /// It may have expired: then it was not served any more.
        package let former: Property?
        /// The property after, if there is one.
        package let property: Property?
        package let reason: Reason

        /// One of the two properties is there.
        package init?(from former: Property?, to property: Property?, _ reason: Reason) {
            guard former != nil || property != nil else {
                return nil
            }
            self.former = former
            self.property = property
            self.reason = reason
        }

        /// Whether the property came into being, or came back.
        package var isCreation: Bool {
            isEvent && property.map { $0.created == $0.revision } ?? false
        }

        /// Whether watchers get an event: not if only the time to live starts again.
        package var isEvent: Bool { reason != .touched }

        /// The name's bytes.
        ///
        /// Valid while the effect lives.
        package var nameBytes: UnsafeRawBufferPointer {
            unsafe some.nameBytes
        }

        /// A property that has the name.
        var some: Property {
            guard let some = property ?? former else {
                preconditionFailure("An effect has a property before or after it.")
            }
            return some
        }
    }

    /// Why a commit changed a property.
    package enum Reason: UInt8, Sendable {
        /// A step of the change asks for it.
        case requested
        /// The property was removed to make room.
        case evicted
        /// The property had expired.
        case expired
        /// The time to live of the property starts again.
        ///
        /// The property keeps the revision that it had.
        case touched
    }
}

/// Why a change was not made.
///
/// Nothing of it is applied, now or later, unless its outcome is not known.
package indirect enum Refusal: Error, Hashable, Sendable {
    /// There is no property to delete.
    case missing
    case preconditionFailed
    /// The value is not an integer of at most 64 bits.
    case notAnInteger
    /// The sum is not an integer of at most 64 bits.
    case overflow
    /// The value would be longer than a value can be.
    case valueTooLarge
    /// The steps would read and write more bytes than a transaction can, or remove too much.
    case transactionTooLarge
    /// The change is longer than the log of a cluster takes.
    case changeTooLong
    /// The name of a claim would be longer than a name can be.
    case claimNameTooLong
    /// The conditions of a waiting transaction do not hold yet, or a pop finds nothing.
    case notYet
    /// The strategy's backlog of changes is full.
    ///
    /// Only where a change is tried again, after room was made for it.
    case backlogFull
    case full(StoreFull)
    /// The key of the request belongs to another request.
    case identityReused
    /// The maximum of kept request keys is reached.
    case tooManyIdentities
    /// The change was made before, and its decision was too long to be kept.
    case answerNotKept
    /// The change was decided before, and this is its first decision once more.
    case repeated(Refusal)
    /// The store takes no change, or its outcome is not known.
    case unavailable(Unavailability)
    /// This step of the branch that a transaction took, counted from 0, cannot be made.
    case step(Int, Transaction.Branch, Refusal)
}

extension Refusal {
    /// Whether the store takes no change at the moment, whatever it is.
    var isOfStore: Bool {
        switch self {
        case .backlogFull, .unavailable: true
        default: false
        }
    }
}

/// The result of a change.
package typealias Decision = Result<Commit, Refusal>
