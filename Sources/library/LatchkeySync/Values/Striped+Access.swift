// The access functions of `Striped`: those of `Synchronized` with the stripe as the first
// parameter, and those to all stripes at once.

extension Striped where ChosenStrategy: BlockingStrategy {
    /// As ``Synchronized/read(fileID:line:_:)`` of one stripe.
    @inlinable public func read<Result, Failure: Error>(
        _ stripe: Int,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(stripe) { (stripe) throws(Failure) -> Result in
            try stripe.read(fileID: fileID, line: line, body)
        }
    }

    /// As ``Synchronized/write(fileID:line:_:)`` of one stripe.
    @inlinable public func write<Result, Failure: Error>(
        _ stripe: Int,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(stripe) { (stripe) throws(Failure) -> Result in
            try stripe.write(fileID: fileID, line: line, body)
        }
    }

    /// Runs `body` with the values of all stripes at one moment: no write to any of them takes
    /// effect while it runs.
    ///
    /// Takes the stripes in ascending order and holds all of them, which is expensive. Blocks until
    /// it has them.
    @inlinable public func readAll<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let request = AccessRequest(.read, at: CallSite(fileID, line), keepsWritersOut: true)
        return try read(strategies, guarded, request, "readAll", body)
    }

    /// Runs `body` with the values of some stripes, all of which it may change: a reader of all
    /// stripes sees all of the changes or none.
    ///
    /// Takes the stripes and holds them all. They must be given in ascending order, at least one.
    /// Blocks until it has them. The body gets the values in that order, not copied except under
    /// `snapshot`. It must keep their number, and not enter a stripe. If it throws, its changes to
    /// the values stay, except under `snapshot`, which then publishes nothing.
    @inlinable public func write<Result, Failure: Error>(
        several stripes: [Int],
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try write(several: stripes, CallSite(fileID, line), "write(several:)", body)
    }

    /// Reads in the name of an access function.
    @inlinable func read<Result, Failure: Error>(
        _ strategies: [ChosenStrategy],
        _ guarded: [GuardedValue<Value>],
        _ request: AccessRequest,
        _ name: StaticString,
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let observers = guarded.map { _ in NoObserver() }
        return try Reentry.checking(strategies, guarded, request, name) {
            () throws(Failure) -> Result in
            try ChosenStrategy.accessAll(request, strategies, observers: observers) {
                () throws(Failure) -> Result in
                try body(SeveralValues.copies(strategies, guarded))
            }
        }
    }

    /// Writes in the name of an access function.
    @inlinable func write<Result, Failure: Error>(
        several stripes: [Int],
        _ site: CallSite,
        _ name: StaticString,
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let request = AccessRequest(.write, at: site)
        let (strategies, guarded) = several(stripes)
        let observers = guarded.map { _ in NoObserver() }
        return try Reentry.checking(strategies, guarded, request, name) {
            () throws(Failure) -> Result in
            try ChosenStrategy.accessAll(request, strategies, observers: observers) {
                () throws(Failure) -> Result in
                try unsafe ChosenStrategy.writingAll(strategies, guarded, body)
            }
        }
    }
}

extension Striped {
    /// As ``Synchronized/submitRead(fileID:line:_:completion:)`` of one stripe.
    @inlinable package func submitRead<Result: Sendable>(
        _ stripe: Int,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try with(stripe) { (stripe) throws(BacklogFull) -> Void in
            try stripe.submitRead(fileID: fileID, line: line, body, completion: completion)
        }
    }

    /// As ``Synchronized/submitWrite(fileID:line:_:completion:)`` of one stripe.
    @inlinable package func submitWrite<Result: Sendable>(
        _ stripe: Int,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try with(stripe) { (stripe) throws(BacklogFull) -> Void in
            try stripe.submitWrite(fileID: fileID, line: line, body, completion: completion)
        }
    }

    /// Submits `body` with the values of all stripes at one moment and calls `completion` with its
    /// result.
    ///
    /// Exists for every strategy. Under a blocking strategy both run before this returns, as in
    /// ``readAll(fileID:line:_:)``. Under `actor` it waits in line and is never refused:
    /// a caller that submits many has to limit them.
    @inlinable public func submitReadAll<Result: Sendable>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        let request = AccessRequest(
            .read,
            at: CallSite(fileID, line),
            isSubmitted: true,
            keepsWritersOut: true
        )
        #if DEBUG || LATCHKEY_CHECKED
        if strategies[0].erasedTraits.blocksCaller {
            Reentry.checking(strategies, guarded, request, "submitReadAll") {}
        }
        let body = { @Sendable [strategies, guarded] (values: [Value]) in
            Reentry.checking(strategies, guarded, request, "submitReadAll") { body(values) }
        }
        #endif
        do throws(BacklogFull) {
            try ChosenStrategy.submitAll(
                request,
                strategies,
                observers: Array(repeating: NoObserver(), count: count),
                { [strategies, guarded] in body(SeveralValues.copies(strategies, guarded)) },
                completion: completion
            )
        } catch {
            preconditionFailure("A read of several values was refused.")
        }
    }

    /// Submits `body` with the values of some stripes, all of which it may change, and calls
    /// `completion` with its result.
    ///
    /// Exists for every strategy: ``write(several:fileID:line:_:)`` if that is applied before this
    /// returns; otherwise in the order of submission, without blocking a thread.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the stripes wait as its strategy
    ///   accepts. Nothing was submitted then, and neither closure is called.
    @inlinable public func submitWrite<Result: Sendable>(
        several stripes: [Int],
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        let request = AccessRequest(.write, at: CallSite(fileID, line), isSubmitted: true)
        let (strategies, guarded) = several(stripes)
        #if DEBUG || LATCHKEY_CHECKED
        if !strategies[0].erasedTraits.appliesWritesAsynchronously {
            Reentry.checking(strategies, guarded, request, "submitWrite(several:)") {}
        }
        let body = { @Sendable (values: inout [Value]) in
            Reentry.checking(strategies, guarded, request, "submitWrite(several:)") {
                body(&values)
            }
        }
        #endif
        try ChosenStrategy.submitAll(
            request,
            strategies,
            observers: guarded.map { _ in NoObserver() },
            { unsafe ChosenStrategy.writingAll(strategies, guarded, body) },
            completion: completion
        )
    }

    /// The strategies and values of some stripes.
    @inlinable func several(_ stripes: [Int]) -> ([ChosenStrategy], [GuardedValue<Value>]) {
        let isAscending = zip(stripes, stripes.dropFirst()).allSatisfy { $0 < $1 }
        precondition(
            isAscending && !stripes.isEmpty,
            "Several stripes are named once each, in ascending order."
        )
        return (stripes.map { strategies[$0] }, stripes.map { guarded[$0] })
    }
}
