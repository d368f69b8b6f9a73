// The doors of `Striped`: those of `Synchronized` with the stripe in front, and those to all
// stripes at once.

extension Striped where Guard: BlockingStrategy {
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
    /// effect meanwhile.
    ///
    /// Takes the stripes in ascending order and holds them all, so it is as expensive as it looks.
    /// Blocks until it has them. The observer hears one read per stripe.
    @inlinable
    public func readAll<Observer: EntryObserver, Result, Failure: Error>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(Guard.self, cells, Caller(fileID, line)) {
            () throws(Failure) -> Result in
            try Guard.readAll(strategies, cells, observers: oneEach(observer), body)
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
    ) {
        with(stripe) { stripe in
            stripe.submitRead(
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
    /// Exists for every strategy; `actor` must have one stripe. Under a blocking strategy both run
    /// before this returns, as in ``readAll(observer:fileID:line:_:)``.
    @inlinable
    public func submitReadAll<Observer: EntryObserver, Result: Sendable>(
        observer: Observer = NoObserver(),
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: @escaping @Sendable ([Value]) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        #if DEBUG || LATCHKEY_CHECKED
        let caller = Caller(fileID, line)
        if Guard.traits.blocksCaller {
            Reentry.checking(Guard.self, cells, caller) {}
        }
        let body = { @Sendable [cells] (values: [Value]) in
            Reentry.checking(Guard.self, cells, caller) { body(values) }
        }
        #endif
        Guard.submitReadAll(
            strategies,
            cells,
            observers: oneEach(observer),
            body,
            completion: completion
        )
    }

    @inlinable
    func oneEach<Observer>(_ observer: Observer) -> [Observer] {
        Array(repeating: observer, count: count)
    }
}
