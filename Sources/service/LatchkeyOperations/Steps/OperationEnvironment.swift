package import LatchkeyStore

/// The things that operations use from outside.
package struct OperationEnvironment: Sendable {
    /// Compares strategies and returns a report in JSON, or a sentence that says why it cannot.
    ///
    /// It may block, polls `isCancelled` often, and reports its progress.
    package typealias Compare =
        @Sendable (
            ComparisonRequest,
            _ isCancelled: @escaping @Sendable () -> Bool,
            _ progress: @escaping @Sendable (Double) -> Void
        ) -> Result<[UInt8], ComparisonFailure>

    let clock: OperationClock
    /// Makes a change, or gives the reason why not.
    let commit:
        @Sendable (Change, _ owner: String?, @escaping @Sendable (CommitResult) -> Void) -> Void
    /// Finds a property, or gives the reason why not.
    let look: @Sendable (PropertyName, @escaping @Sendable (LookResult) -> Void) -> Void
    /// An error as the JSON text that the first step of `catch` is given.
    let describe: @Sendable (OperationFailure) -> [UInt8]
    /// Is told the writes of steps.
    let observe: (@Sendable (OperationWrite) -> Void)?
    let compare: Compare?
    let fetching: FetchLimits
    /// How deep values can nest.
    let depthMax: Int

    /// - Parameters:
    ///   - look: Finds a property. It throws if a backlog is full.
    ///   - commit: Makes a change in the name of an operation's owner. It throws if a backlog is
    ///     full.
    ///   - clock: Times the steps.
    ///   - depthMax: How deep values can nest.
    ///   - fetching: The limits of steps that fetch.
    ///   - compare: Compares strategies, if operations can.
    ///   - observe: Is told the writes of steps, on any thread, before the operation goes on.
    ///   - describe: Makes a JSON text of an error.
    package init(
        look:
            @escaping @Sendable (
                PropertyName, @escaping @Sendable (Property?) -> Void
            ) throws -> Void,
        commit:
            @escaping @Sendable (
                Change, _ owner: String?, @escaping @Sendable (Decision) -> Void
            ) throws -> Void,
        clock: OperationClock = .system,
        depthMax: Int = StoreLimits.standard.depthMax,
        fetching: FetchLimits = .standard,
        compare: Compare? = nil,
        observe: (@Sendable (OperationWrite) -> Void)? = nil,
        describe: @escaping @Sendable (OperationFailure) -> [UInt8]
    ) {
        self.clock = clock
        self.depthMax = depthMax
        self.fetching = fetching
        self.compare = compare
        self.describe = describe
        self.observe = observe
        self.commit = { change, owner, completion in
            do {
                try commit(change, owner) { decision in
                    completion(decision.mapError { .refused($0) })
                }
            } catch {
                completion(.failure(.backlogFull))
            }
        }
        self.look = { name, completion in
            do {
                try look(name) { completion(.success($0)) }
            } catch {
                completion(.failure(.backlogFull))
            }
        }
    }
}

/// The result of a look.
typealias LookResult = Result<Property?, OperationFailure>

/// The result of a change.
typealias CommitResult = Result<Commit, OperationFailure>

/// The reason why a comparison was not made.
package struct ComparisonFailure: Error, Sendable {
    /// A sentence.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
