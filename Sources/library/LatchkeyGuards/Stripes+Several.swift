public import LatchkeySync

/// Accesses to several stripes at one moment.
///
/// **Design.** Where the guards apply writes at once, which is the common case, each stripe is held
/// in its place, and the record of each access is on the stack. As soon as a stripe has a queue
/// that applies writes later, ``SeveralGuards`` takes over the stripes that are held by then.
extension Stripes {
    /// Runs `body` with the values of some stripes at one moment, all of which it may change.
    ///
    /// The stripes are in ascending order. Blocks until all are held. `published` runs when readers
    /// find all that was written, before the first stripe is left.
    ///
    /// - Returns: The result of `body`; nil if nothing was done, because the write is best
    ///   submitted: the first stripe applies it later.
    @inlinable package func writeAtOnce<Result>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: (inout [Value]) -> Result,
        published: () -> Void
    ) -> Result? {
        check(stripes)
        return unsafe withUnsafeTemporaryAllocation(of: Access.self, capacity: stripes.count) {
            accesses in
            let count = unsafe hold(stripes, .write, ask, accesses)
            guard count == stripes.count else {
                guard count > 0 else { return nil }
                let several = SeveralGuards(guards(stripes), .write, ask)
                unsafe several.takeOver(accesses, count)
                return write(several, stripes, body, published)
            }
            defer { unsafe leave(stripes, accesses) }
            let result = unsafe write(stripes, accesses, body)
            published()
            return result
        }
    }

    /// The same, which blocks until it is done.
    @inlinable package func write<Result>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: (inout [Value]) -> Result,
        published: () -> Void
    ) -> Result {
        writeAtOnce(several: stripes, ask, body, published: published)
            ?? write(SeveralGuards(guards(stripes), .write, ask), stripes, body, published)
    }

    @inlinable @inline(never) func write<Result>(
        _ several: SeveralGuards,
        _ stripes: [Int],
        _ body: (inout [Value]) -> Result,
        _ published: () -> Void
    ) -> Result {
        several.hold()
        defer { several.leave() }
        let result = ValuePlace.write(several.values, stripes.map { values[$0] }, body)
        published()
        return result
    }

    /// Submits a write to some stripes at one moment, in ascending order.
    ///
    /// Both closures are called before this returns, unless all of the stripes apply writes later.
    ///
    /// - Throws: ``BacklogFull`` if as many writes to one of the stripes wait as its strategy
    ///   accepts.
    @inlinable package func submitWrite<Result: Sendable>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: @escaping @Sendable (inout [Value]) -> Result,
        published: @escaping @Sendable () -> Void,
        completion: @escaping @Sendable (Result) -> Void
    ) throws(BacklogFull) {
        if let result = writeAtOnce(several: stripes, ask, body, published: published) {
            return completion(result)
        }
        let (values, answer) = (stripes.map { self.values[$0] }, Answer<Result>())
        let several = SeveralGuards(guards(stripes), .write, ask, isSubmitted: true)
        try several.submit { places in
            answer.result = ValuePlace.write(places, values, body)
            published()
        } completion: {
            if let result = answer.result.take() { completion(result) }
        }
    }

    /// Runs `body` with the value of a stripe while no write to it takes effect, and blocks until
    /// it has run: also where readers enter beside writers.
    ///
    /// - Returns: Nil if nothing was done, because the stripe applies writes later.
    @inlinable package func readHeld<Result>(
        _ stripe: Int,
        _ ask: Ask,
        _ body: (Value) -> Result
    ) -> Result? {
        with(stripe) { section, value in
            var access = Access(.read, ask)
            guard section.hold(&access) else { return nil }
            defer { section.leaveHeld(access) }
            return section.place(access).read(value, body)
        }
    }

    /// Submits a read of some stripes at one moment, which is never refused.
    ///
    /// Both closures are called before this returns, unless the strategy cannot block.
    ///
    /// - Parameters:
    ///   - stripes: In ascending order.
    ///   - ask: The call site of the access.
    ///   - body: Given a function that lends the value of each stripe, one after the other.
    ///   - completion: Given the result of `body`, outside.
    @inlinable package func submitRead<Result: Sendable>(
        several stripes: [Int],
        _ ask: Ask,
        _ body: @escaping @Sendable (_ lend: ((Value) -> Void) -> Void) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        check(stripes)
        var others: SeveralGuards?
        let result = unsafe withUnsafeTemporaryAllocation(
            of: Access.self,
            capacity: stripes.count
        ) { accesses -> Result? in
            let held = unsafe hold(stripes, .read, ask, accesses)
            guard held == stripes.count else {
                let several = SeveralGuards(guards(stripes), .read, ask, isSubmitted: true)
                unsafe several.takeOver(accesses, held)
                others = several
                return nil
            }
            defer { unsafe leave(stripes, accesses) }
            return body { read in
                for (index, stripe) in stripes.enumerated() {
                    with(stripe) { section, value in
                        unsafe section.place(accesses[index]).read(value, read)
                    }
                }
            }
        }
        if let result { completion(result) }
        if let others { submitRead(others, stripes, body, completion: completion) }
    }

    @inlinable @inline(never) func submitRead<Result: Sendable>(
        _ several: SeveralGuards,
        _ stripes: [Int],
        _ body: @escaping @Sendable (((Value) -> Void) -> Void) -> Result,
        completion: @escaping @Sendable (Result) -> Void
    ) {
        let (values, answer) = (stripes.map { self.values[$0] }, Answer<Result>())
        do throws(BacklogFull) {
            try several.submit { places in
                answer.result = body { read in
                    for (place, value) in zip(places, values) { place.read(value, read) }
                }
            } completion: {
                if let result = answer.result.take() { completion(result) }
            }
        } catch {
            preconditionFailure("A read of several values is not refused.")
        }
    }
}

// MARK: held in place

extension Stripes {
    @usableFromInline func check(_ stripes: [Int]) {
        var last = -1
        for stripe in stripes {
            precondition(last < stripe, "Several stripes are named once each, in ascending order.")
            last = stripe
        }
        precondition(last >= 0, "Several stripes are at least one.")
    }

    @usableFromInline func guards(_ stripes: [Int]) -> [StripeGuard] { stripes.map { guards[$0] } }

    /// Holds stripes in ascending order, up to the first one that has a queue.
    ///
    /// - Returns: How many are held, of which `accesses` has been initialized.
    @unsafe @inlinable func hold(
        _ stripes: some Collection<Int>,
        _ mode: AccessMode,
        _ ask: Ask,
        _ accesses: UnsafeMutableBufferPointer<Access>
    ) -> Int {
        var held = 0
        for stripe in stripes {
            unsafe accesses.initializeElement(at: held, to: Access(mode, ask))
            let isHeld = with(stripe) { section, _ in unsafe section.hold(&accesses[held]) }
            guard isHeld else { return held }
            held += 1
        }
        return held
    }

    /// Leaves the stripes that are held, the last one first.
    @unsafe @inlinable func leave(
        _ stripes: some BidirectionalCollection<Int>,
        _ accesses: UnsafeMutableBufferPointer<Access>
    ) {
        var index = stripes.count
        for stripe in stripes.reversed() {
            index -= 1
            with(stripe) { section, _ in unsafe section.leaveHeld(accesses[index]) }
        }
    }

    /// Lends the values of stripes that are held to a writer.
    ///
    /// Values in their places are moved out meanwhile: a copy would make each change copy it.
    @unsafe @inlinable func write<Result>(
        _ stripes: [Int],
        _ accesses: UnsafeMutableBufferPointer<Access>,
        _ body: (inout [Value]) -> Result
    ) -> Result {
        var all: [Value] = []
        all.reserveCapacity(stripes.count)
        for (index, stripe) in stripes.enumerated() {
            with(stripe) { section, value in
                all.append(unsafe section.place(accesses[index]).takes(value))
            }
        }
        let result = body(&all)
        precondition(all.count == stripes.count, "A body keeps the number of values.")
        for index in stripes.indices.reversed() {
            with(stripes[index]) { section, value in
                unsafe section.place(accesses[index]).puts(all.removeLast(), value)
            }
        }
        return result
    }
}

extension ValuePlace {
    /// Lends several values to a writer, from inside all of them.
    @inlinable static func write<Value, Result>(
        _ places: [ValuePlace],
        _ values: [GuardedValue<Value>],
        _ body: (inout [Value]) -> Result
    ) -> Result {
        var all = zip(places, values).map { place, value in place.takes(value) }
        let result = body(&all)
        precondition(all.count == values.count, "A body keeps the number of values.")
        for (place, value) in zip(places, values).reversed() {
            place.puts(all.removeLast(), value)
        }
        return result
    }

    /// Moves the value out, or copies it where writers write a copy.
    @inlinable func takes<Value>(_ value: GuardedValue<Value>) -> Value {
        if case .inPlace = self { value.take() } else { read(value) { $0 } }
    }

    /// Puts a value into the place from which one was taken.
    @inlinable func puts<Value>(_ new: consuming Value, _ value: GuardedValue<Value>) {
        if case .inPlace = self {
            value.put(new)
        } else {
            let new = new
            write(value) { $0 = new }
        }
    }
}
