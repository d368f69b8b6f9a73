// The access functions of `Striped`: those of `Synchronized` with the stripe in front, and those to
// all stripes at once.

extension Striped where ChosenStrategy: BlockingStrategy {
    /// As ``Synchronized/read(observer:fileID:line:_:)`` of one stripe.
    @inlinable
    public func read<Observer: EntryObserver, Result, Failure: Error>(
        _ stripe: Int,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(stripe) { (stripe) throws(Failure) -> Result in
            try stripe.read(observer: observer, fileID: fileID, line: line, body)
        }
    }

    /// As ``Synchronized/write(observer:fileID:line:_:)`` of one stripe.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        _ stripe: Int,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try with(stripe) { (stripe) throws(Failure) -> Result in
            try stripe.write(observer: observer, fileID: fileID, line: line, body)
        }
    }

    /// Runs `body` with the values of all stripes at one moment: no write to any of them takes
    /// effect while it runs.
    ///
    /// Takes the stripes in ascending order and holds all of them, which is expensive. Blocks until
    /// it has them. The observer hears one read per stripe.
    @inlinable
    public func readAll<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(
            ChosenStrategy.self,
            guarded,
            .readAll,
            CallSite(fileID, line)
        ) {
            () throws(Failure) -> Result in
            let observers = oneEach(observer.here(fileID, line))
            return try ChosenStrategy.readAll(strategies, guarded, observers: observers, body)
        }
    }

    /// Runs `body` with the values of some stripes, all of which it may change: a reader of all
    /// stripes sees all of the changes or none.
    ///
    /// Takes the stripes in ascending order and holds them all. Blocks until it has them. The
    /// observer hears one write per stripe.
    ///
    /// - Parameters:
    ///   - stripes: At least one; in ascending order, each once.
    ///   - observer: Hears of these accesses.
    ///   - fileID: Named in the message of the re-entry check.
    ///   - line: Named in the message of the re-entry check.
    ///   - body: Given the values in the order of `stripes`, not copied except under `snapshot`.
    ///     Must keep their number, and not enter a stripe.
    /// - Returns: What `body` returns.
    /// - Throws: The error of `body`. Its changes to the values stay, except under `snapshot`,
    ///   which then publishes nothing.
    @inlinable
    public func write<Observer: EntryObserver, Result, Failure: Error>(
        several stripes: [Int],
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try write(several: stripes, as: .writeSeveral, CallSite(fileID, line), observer, body)
    }

    /// Writes in the name of one of the access functions.
    @inlinable
    func write<Observer: EntryObserver, Result, Failure: Error>(
        several stripes: [Int],
        as access: Reentry.Access,
        _ caller: CallSite,
        _ observer: Observer,
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (strategies, guarded) = several(stripes)
        let observers = Array(repeating: observer.at(caller), count: guarded.count)
        return try Reentry.checking(ChosenStrategy.self, guarded, access, caller) {
            () throws(Failure) -> Result in
            try ChosenStrategy.writeAll(strategies, guarded, observers: observers, body)
        }
    }
}

extension Striped {
    /// As ``Synchronized/submitRead(observer:fileID:line:_:completion:)`` of one stripe.
    @inlinable
    public func submitRead<Observer: EntryObserver, Result: Sendable>(
        _ stripe: Int,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try with(stripe) { (stripe) throws(BacklogFull) -> Void in
            try stripe.submitRead(
                observer: observer,
                fileID: fileID,
                line: line,
                body,
                completion: completion
            )
        }
    }

    /// As ``Synchronized/submitWrite(observer:fileID:line:_:completion:)`` of one stripe.
    @inlinable
    public func submitWrite<Observer: EntryObserver, Result: Sendable>(
        _ stripe: Int,
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout Value) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        try with(stripe) { (stripe) throws(BacklogFull) -> Void in
            try stripe.submitWrite(
                observer: observer,
                fileID: fileID,
                line: line,
                body,
                completion: completion
            )
        }
    }

    /// Submits `body` with the values of all stripes at one moment and calls `completion` with its
    /// result.
    ///
    /// Exists for every strategy. Under a blocking strategy both run before this returns, as in
    /// ``readAll(observer:fileID:line:_:)``. Under `actor` it waits in line and is never refused:
    /// whoever submits many of them has to bound them.
    @inlinable
    public func submitReadAll<Observer: EntryObserver, Result: Sendable>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        #if DEBUG || LATCHKEY_CHECKED
        let caller = CallSite(fileID, line)
        if ChosenStrategy.traits.blocksCaller {
            Reentry.checking(ChosenStrategy.self, guarded, .submitReadAll, caller) {}
        }
        let body = { @Sendable [guarded] (values: [Value]) in
            Reentry.checking(ChosenStrategy.self, guarded, .submitReadAll, caller) {
                body(values)
            }
        }
        #endif
        ChosenStrategy.submitReadAll(
            strategies,
            guarded,
            observers: oneEach(observer.here(fileID, line)),
            body,
            completion: completion
        )
    }

    /// Submits `body` with the values of some stripes, all of which it may change, and calls
    /// `completion` with its result.
    ///
    /// Exists for every strategy: ``write(several:observer:fileID:line:_:)`` where that is applied
    /// before this returns, and else in the order of submission, without blocking a thread.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the stripes wait as its strategy
    ///   accepts. Nothing was submitted then, and neither closure is called.
    @inlinable
    @inline(__always)
    public func submitWrite<Observer: EntryObserver, Result: Sendable>(
        several stripes: [Int],
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        #if DEBUG || LATCHKEY_CHECKED
        let caller = CallSite(fileID, line)
        let (_, guarded) = several(stripes)
        if !ChosenStrategy.traits.appliesWritesAsynchronously {
            Reentry.checking(ChosenStrategy.self, guarded, .submitWriteSeveral, caller) {}
        }
        let body = { @Sendable (values: inout [Value]) in
            Reentry.checking(ChosenStrategy.self, guarded, .submitWriteSeveral, caller) {
                body(&values)
            }
        }
        #endif
        let observer = observer.here(fileID, line)
        if ChosenStrategy.traits.writesInPlaceAtOnce && stripes.count <= StripeCount.nestedMax {
            completion(try writeNested(stripes, observer, body))
            return
        }
        let (strategies, values) = several(stripes)
        try ChosenStrategy.submitWriteAll(
            strategies,
            values,
            observers: Array(repeating: observer, count: values.count),
            body,
            completion: completion
        )
    }

    @inlinable
    func checkOrder(_ stripes: [Int]) {
        var isAscending = !stripes.isEmpty
        for index in stripes.indices.dropFirst() where stripes[index - 1] >= stripes[index] {
            isAscending = false
        }
        precondition(isAscending, "Several stripes are named once each, in ascending order.")
    }

    /// The strategies and values of some stripes.
    @inlinable
    func several(_ stripes: [Int]) -> ([ChosenStrategy], [GuardedValue<Value>]) {
        checkOrder(stripes)
        return (stripes.map { strategies[$0] }, stripes.map { guarded[$0] })
    }

    @inlinable
    func oneEach<Observer>(_ observer: Observer) -> [Observer] {
        Array(repeating: observer, count: count)
    }
}
