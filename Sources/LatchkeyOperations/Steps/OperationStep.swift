package import LatchkeyStore

/// One step of an operation.
///
/// Names and texts own their bytes, or the plan's maker gives them an owner. Where a step takes the
/// previous step's value, its own is nil.
package enum OperationStep: Sendable {
    case put(PropertyName, OperationValue?, ttl: TimeToLive?)
    case delete(PropertyName)
    case increment(PropertyName, by: Int64, ttl: TimeToLive?)
    case merge(PropertyName, OperationValue?, ttl: TimeToLive?)
    case get(PropertyName)
    case transaction(Transaction, owner: OwnedBytes)
    /// Waits, and passes the previous step's value on.
    case wait(Duration)
    /// Puts the properties of lines: of a text in NDJSON, or of an array of the objects.
    case importing(OperationValue?)
    case compare(ComparisonRequest)
    /// Reads a JSON text from this URL.
    case fetch(String)
}

/// What a step of the kind `compare` measures.
package struct ComparisonRequest: Sendable, Hashable {
    package static let threadsMax = 64
    package static let secondsMax = 60.0

    /// Names of strategies; empty for all.
    package let strategies: [String]
    package let threads: Int
    /// How long each strategy is measured.
    package let seconds: Double

    package init(strategies: [String], threads: Int, seconds: Double) {
        self.strategies = strategies
        self.threads = threads
        self.seconds = seconds
    }
}

/// What operations use from outside.
package struct OperationEnvironment: Sendable {
    /// Compares strategies and returns a report in JSON, or a sentence that says why it cannot.
    ///
    /// It may block, asks often whether it is cancelled, and says how much of it is done.
    package typealias Compare =
        @Sendable (
            ComparisonRequest,
            _ isCancelled: @escaping @Sendable () -> Bool,
            _ progress: @escaping @Sendable (Double) -> Void
        ) -> Result<[UInt8], ComparisonFailure>

    let clock: OperationClock
    /// Makes a change. Throws if the store accepts no more.
    let commit:
        @Sendable (Change, @escaping @Sendable (Decision) -> Void) throws(BacklogFull) -> Void
    /// Finds a property.
    let look: @Sendable (PropertyName, @escaping @Sendable (Property?) -> Void) -> Void
    /// An error as the JSON text that the first step of `catch` is given.
    let describe: @Sendable (OperationFailure) -> [UInt8]
    let compare: Compare?
    let fetching: FetchLimits
    /// How deep values can nest.
    let depthMax: Int

    package init(
        clock: OperationClock = .system,
        depthMax: Int = 64,
        fetching: FetchLimits = .standard,
        compare: Compare? = nil,
        commit:
            @escaping @Sendable (Change, @escaping @Sendable (Decision) -> Void)
            throws(BacklogFull) -> Void,
        look: @escaping @Sendable (PropertyName, @escaping @Sendable (Property?) -> Void) -> Void,
        describe: @escaping @Sendable (OperationFailure) -> [UInt8]
    ) {
        self.clock = clock
        self.depthMax = depthMax
        self.fetching = fetching
        self.compare = compare
        self.commit = commit
        self.look = look
        self.describe = describe
    }
}

/// Why a comparison was not made.
package struct ComparisonFailure: Error, Sendable {
    /// A sentence.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
