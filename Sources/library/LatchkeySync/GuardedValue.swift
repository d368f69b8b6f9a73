/// A guarded value, as a strategy sees it.
///
/// ``Synchronized`` makes one and passes it to its strategy with each access. ``read(_:)`` and
/// ``write(_:)`` do not synchronize, and are `@unsafe`: only a strategy that lends the value in a
/// way of its own calls them, from inside.
///
/// **Design.** One allocation holds the value and the words of its lock.
///
/// SAFETY: `@unchecked Sendable` because every use of the value is inside a strategy.
public final class GuardedValue<Value: ~Copyable>: LockMemory, @unchecked Sendable {
    // SAFETY: unchecked, because the strategy excludes all other accesses; Swift's own check costs
    // more than a lock. Code that uses the value has to write `unsafe`.
    @exclusivity(unchecked) @usableFromInline
    nonisolated(unsafe) final var storage: LentValue<Value>

    /// A value to be guarded by one strategy.
    @inlinable package init(_ value: consuming sending Value) {
        unsafe storage = LentValue(value)
        super.init()
    }

    /// Lends the value to `body`, which may change it.
    ///
    /// The strategy excludes all other accesses meanwhile.
    @unsafe @inlinable @inline(__always) public func write<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        // SAFETY: the strategy excludes all other accesses.
        try unsafe body(&storage.stored)
    }

    /// Lends the value to `body`, without copying it.
    ///
    /// The strategy keeps writers out meanwhile.
    @unsafe @inlinable @inline(__always) public func read<Result: ~Copyable, Failure: Error>(
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the strategy keeps writers out.
        try unsafe body(storage)
    }
}

extension GuardedValue {
    /// Lends the value to `body`, which may change it.
    ///
    /// The strategy excludes all other accesses meanwhile.
    @unsafe @inlinable @inline(__always) public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the strategy excludes all other accesses.
        try unsafe body(&storage.stored)
    }

    /// Moves the value out.
    ///
    /// The memory must be filled again before the next access.
    @inlinable package func take() -> Value {
        // SAFETY: a stored variable of an object does not move, and no thread uses it until `put`.
        unsafe withUnsafeMutablePointer(to: &storage.stored) { unsafe $0.move() }
    }

    /// Moves a value into memory from which one was taken.
    @inlinable package func put(_ value: consuming Value) {
        var value = Optional(value)
        // SAFETY: the memory is not initialized after `take`.
        unsafe withUnsafeMutablePointer(to: &storage.stored) {
            if let value = value.take() {
                unsafe $0.initialize(to: value)
            }
        }
    }
}

/// A value that is only ever borrowed, as a strategy lends it to a body that reads.
///
/// It is not copyable, so the compiler passes the value in place to a body that reads it. A
/// copyable value would be copied first; for a dictionary or a string that means two atomic
/// operations on its reference count, in a cache line that all readers share. With this type a read
/// costs only the strategy.
public struct LentValue<Value: ~Copyable>: ~Copyable {
    @usableFromInline var stored: Value

    /// A value that a strategy keeps to lend it.
    @inlinable public init(_ value: consuming Value) {
        stored = value
    }

    /// The value.
    @inlinable public var value: Value {
        _read { yield stored }
    }
}

extension LentValue {
    @inlinable @inline(__always) borrowing func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(stored)
    }
}

/// Accesses to several values, all of which the caller holds.
@usableFromInline enum SeveralValues {
    /// Copies, which have to end before the access: else the next writer would find its value
    /// shared and copy it.
    @inlinable static func copies<Value, ChosenStrategy: Strategy>(
        _ strategies: [ChosenStrategy],
        _ guarded: [GuardedValue<Value>]
    ) -> [Value] {
        zip(strategies, guarded).map { unsafe $0.reading($1) { $0.value } }
    }

    /// Runs `body` with the values themselves, moved out for the time of the call.
    @inlinable static func write<Value, Result, Failure: Error>(
        _ guarded: [GuardedValue<Value>],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var values = guarded.map { $0.take() }
        defer {
            expect(values.count, of: guarded.count)
            for guarded in guarded.reversed() {
                guarded.put(values.removeLast())
            }
        }
        return try body(&values)
    }

    @inlinable static func expect(_ count: Int, of expected: Int) {
        precondition(count == expected, "A body that writes several values keeps their number.")
    }
}
