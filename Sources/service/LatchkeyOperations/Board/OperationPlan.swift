package import LatchkeyStore

/// An operation as a client asks for it: its steps, and when they are made.
///
/// The names and values of the steps borrow the plan's source, which lives as long as the plan. A
/// class, so that a plan is freed as a whole when its operation has ended.
package final class OperationPlan: Sendable {
    package static let stepCountMax = 128
    package static let dependencyCountMax = 128

    /// Returns why a step may not be made, given the properties that it shows of the previous
    /// value.
    package typealias Refusal =
        @Sendable (OperationStep, _ taken: [PropertyName]) -> String?

    /// The name of its submitter, if that is known.
    package let owner: String?
    /// The request that submitted it, for records of the writes.
    package let origin: OperationOrigin?
    /// Returns why the owner may not make a step, as a sentence; called when the step is made,
    /// because the owner's rights can have changed.
    let refusal: Refusal
    /// The identifier that the client chose, if it did.
    package let id: OperationID?
    /// A text for people.
    package let name: String?
    package let priority: OperationPriority
    package let dependencies: [OperationID]
    package let delay: Duration
    package let steps: [OperationStep]
    /// The steps that are made after one of `steps` has failed.
    package let recovery: [OperationStep]
    /// The text that the steps were read from.
    let source: OwnedBytes?

    /// The memory that counts towards the limit.
    var byteCount: Int { source.map { unsafe $0.bytes.count } ?? 0 }

    package init(
        owner: String? = nil,
        origin: OperationOrigin? = nil,
        refusal: @escaping Refusal = { _, _ in nil },
        id: OperationID? = nil,
        name: String? = nil,
        priority: OperationPriority = .normal,
        dependencies: [OperationID] = [],
        delay: Duration = .zero,
        steps: [OperationStep],
        recovery: [OperationStep] = [],
        source: OwnedBytes? = nil
    ) {
        self.owner = owner
        self.origin = origin
        self.refusal = refusal
        self.id = id
        self.name = name
        self.priority = priority
        self.dependencies = dependencies
        self.delay = delay
        self.steps = steps
        self.recovery = recovery
        self.source = source
    }
}
