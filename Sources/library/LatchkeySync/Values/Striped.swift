/// Values of one kind, each with a strategy of its own, among which a hash chooses.
///
/// One lock for everything makes unrelated accesses wait for each other. One lock for each property
/// makes millions of locks, or, with queues, hundreds of threads. Stripes are between the two.
///
/// ```swift
/// let scores = Striped<[String: Int], SpinStrategy> { _ in [:] }
/// scores.write(key: "ada") { $0["ada", default: 0] += 1 }
/// let players = scores.readAll { $0.reduce(0) { $0 + $1.count } }
/// ```
///
/// The access functions are those of ``Synchronized``, with the key or the stripe as the first
/// parameter. A body must not enter another stripe: ``readAll(fileID:line:_:)``,
/// ``write(keys:fileID:line:_:)`` and ``write(several:fileID:line:_:)`` take several, and always in
/// ascending order.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the class alone allocates and frees `stripes`,
/// whose elements never change, and every index is checked.
@safe
public final class Striped<Value: Sendable, ChosenStrategy: Strategy>: @unchecked Sendable {
    @usableFromInline let stripes: UnsafeMutablePointer<Stripe<Value, ChosenStrategy>>
    @usableFromInline let strategies: [ChosenStrategy]
    @usableFromInline let guarded: [GuardedValue<Value>]

    /// - Parameters:
    ///   - count: A power of two, at most ``StripeCount/max``.
    ///   - strategy: Makes the strategy of each stripe.
    ///   - value: Makes the first value of each stripe.
    @inlinable public convenience init(
        count: Int = StripeCount.standard,
        strategy: () -> ChosenStrategy,
        value: (_ stripe: Int) -> Value
    ) {
        self.init(count) { Synchronized(value($0), strategy: strategy()) }
    }

    @inlinable init(_ count: Int, _ make: (_ stripe: Int) -> Synchronized<Value, ChosenStrategy>) {
        precondition(
            StripeCount.isValid(count),
            "The number of stripes is a power of two from 1 to \(StripeCount.max)."
        )
        let all = (0..<count).map(make)
        strategies = all.map(\.strategy)
        guarded = all.map(\.guarded)
        unsafe stripes = .allocate(capacity: count)
        for (index, synchronized) in all.enumerated() {
            unsafe (stripes + index).initialize(to: Stripe(synchronized))
        }
    }

    /// Values by stripe, each with a strategy of its own.
    @inlinable public convenience init(
        count: Int = StripeCount.standard,
        value: (_ stripe: Int) -> Value
    ) where ChosenStrategy: MakeableStrategy {
        self.init(count) { Synchronized(value($0)) }
    }

    /// The same values, with an observer that also hears of the accesses through the result: of an
    /// access to several stripes, once for each.
    public func observed<Observer: EntryObserver>(
        by observer: Observer
    ) -> Striped<Value, ObservedStrategy<ChosenStrategy, Observer>> {
        Striped<Value, ObservedStrategy<ChosenStrategy, Observer>>(count) { stripe in
            self[stripe].observed(by: observer)
        }
    }

    @inlinable deinit {
        unsafe stripes.deinitialize(count: count)
        unsafe stripes.deallocate()
    }

    /// The number of stripes.
    @inlinable public var count: Int { guarded.count }

    /// The stripe of a hash.
    ///
    /// The hash must be well mixed, as `Hasher`'s are.
    @inlinable public func index(hash: Int) -> Int {
        hash & (count &- 1)
    }

    /// The number of writes that were accepted and are not yet applied, over all stripes.
    @inlinable public var backlogCount: Int { strategies.reduce(0) { $0 + $1.backlogCount } }

    /// The stripe itself.
    ///
    /// The access functions below avoid its reference counting.
    @inlinable public subscript(stripe: Int) -> Synchronized<Value, ChosenStrategy> {
        with(stripe) { $0 }
    }

    /// The key's stripe, by the key's hash, for access functions that ``Striped`` does not have.
    @inlinable public subscript(key key: some Hashable) -> Synchronized<Value, ChosenStrategy> {
        with(index(of: key)) { $0 }
    }

    /// Lends a stripe to `body`, without touching its reference count.
    @inlinable @inline(__always) func with<Result, Failure: Error>(
        _ stripe: Int,
        _ body: (Synchronized<Value, ChosenStrategy>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(stripe >= 0 && stripe < count, "There is no such stripe.")
        return try unsafe stripes[stripe].with(body)
    }
}

/// The limits of the number of stripes.
public enum StripeCount {
    /// 128.
    ///
    /// The Objective-C runtime has as many locks for atomic properties, and this idea comes from
    /// there.
    ///
    /// With 128 stripes, threads meet on one by chance in less than one access of a hundred, and an
    /// empty stripe costs some hundred bytes.
    public static let standard = 128

    /// 1024. An access to all stripes enters that many guarded sections.
    public static let max = 1024

    /// Whether this is a possible number of stripes.
    public static func isValid(_ count: Int) -> Bool {
        count > 0 && count <= max && count.nonzeroBitCount == 1
    }
}

/// A stripe where only a borrow of it is handed out.
///
/// See `LentValue` for why that matters: the reference count would be the one line that all threads
/// write to.
@usableFromInline struct Stripe<Value: Sendable, ChosenStrategy: Strategy>: ~Copyable {
    @usableFromInline let synchronized: Synchronized<Value, ChosenStrategy>

    @inlinable init(_ synchronized: Synchronized<Value, ChosenStrategy>) {
        self.synchronized = synchronized
    }

    @inlinable borrowing func with<Result, Failure: Error>(
        _ body: (Synchronized<Value, ChosenStrategy>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(synchronized)
    }
}
