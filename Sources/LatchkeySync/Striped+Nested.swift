// A submitted write to a few stripes, for which nothing is listed.

extension StrategyTraits {
    /// Whether a submitted write is applied before the call returns, to the value in its place.
    ///
    /// Then a write to several values can be one write inside the other.
    @inlinable var writesInPlaceAtOnce: Bool {
        blocksCaller && !appliesWritesAsynchronously && !readsDuringWrites
    }
}

extension StripeCount {
    /// 4: so many are entered one inside the other, which takes room on the stack for each.
    @usableFromInline static let nestedMax = 4
}

extension Striped {
    /// Writes to each stripe, in ascending order, and from inside to the next one.
    ///
    /// The last write runs `body`, so all of them are held meanwhile.
    /// The lists of strategies and observers that ``Strategy`` takes for several values cost more
    /// than two locks.
    ///
    /// - Returns: What `body` returns.
    /// - Throws: ``BacklogFull`` as the strategy. Then `body` did not run.
    @inlinable @inline(never) func writeNested<Observer: EntryObserver, Result: Sendable>(
        _ stripes: [Int],
        _ request: AccessRequest,
        _ observer: Observer,
        _ body: @escaping @Sendable (inout [Value]) -> Result
    ) throws(BacklogFull) -> Result {
        checkOrder(stripes)
        var values: [Value] = []
        values.reserveCapacity(stripes.count)
        return try unsafe nest(stripes, 0, request, observer, &values, body)
    }

    /// Enters the stripes from `index` on and runs `body` inside.
    ///
    /// - Parameters:
    ///   - stripes: In ascending order.
    ///   - index: The first one to enter.
    ///   - request: What is asked of each.
    ///   - observer: Hears of each access.
    ///   - values: The values of the stripes before, which are moved out for the time of the call.
    ///   - body: Given all values.
    /// - Returns: What `body` returns.
    /// - Throws: ``BacklogFull`` as the strategy. Then `body` did not run.
    @inlinable func nest<Observer: EntryObserver, Result: Sendable>(
        _ stripes: [Int],
        _ index: Int,
        _ request: AccessRequest,
        _ observer: Observer,
        _ values: UnsafeMutablePointer<[Value]>,
        _ body: @escaping @Sendable (inout [Value]) -> Result
    ) throws(BacklogFull) -> Result {
        guard index < stripes.count else {
            let result = unsafe body(&values.pointee)
            unsafe SeveralValues.expect(values.pointee.count, of: stripes.count)
            return result
        }
        // SAFETY: the strategy calls both closures before it returns, as its traits say.
        nonisolated(unsafe) var result: Swift.Result<Result, BacklogFull>?
        // SAFETY: only the thread that is inside all stripes before uses the list.
        nonisolated(unsafe) let values = unsafe values
        try with(stripes[index]) { (stripe) throws(BacklogFull) -> Void in
            let (strategy, guarded) = (stripe.strategy, stripe.guarded)
            try strategy.submit(
                request,
                observer: observer,
                { [self] in
                    unsafe strategy.writing(guarded) { value in
                        unsafe withUnsafeMutablePointer(to: &value) { place in
                            // SAFETY: the place is filled again before anybody else uses it.
                            unsafe values.pointee.append(place.move())
                            defer { unsafe place.initialize(to: values.pointee.removeLast()) }
                            do throws(BacklogFull) {
                                return .success(
                                    try unsafe nest(
                                        stripes,
                                        index + 1,
                                        request,
                                        observer,
                                        values,
                                        body
                                    )
                                )
                            } catch {
                                return .failure(error)
                            }
                        }
                    }
                },
                completion: { unsafe result = $0 }
            )
        }
        guard let result = unsafe result else {
            preconditionFailure("A strategy that applies a write at once has called back.")
        }
        return try result.get()
    }
}
