public import Synchronization

/// A guarded value, as a strategy sees it.
///
/// ``Synchronized`` makes one and passes it to its strategy with each access. ``read(_:)`` and
/// ``write(_:)`` do not synchronize; only a strategy that is written in full calls them.
///
/// **Design.** The object owns the memory at `address` and the value in it. Locks and queues use
/// the memory in place and never change the address. ``SnapshotStrategy`` publishes a new address
/// for each write and disposes of the old one itself.
///
/// SAFETY: `@safe` because the class alone allocates and frees the memory, which is initialized
/// whenever a strategy lets nobody in for writing; whoever reads `address` has to say `unsafe`.
/// `@unchecked Sendable` because every use of the memory is inside a strategy.
@safe
public final class GuardedValue<Value: Sendable>: @unchecked Sendable {
    @usableFromInline let address: Atomic<UnsafeMutablePointer<Storage<Value>>>

    /// A value to be guarded by one strategy.
    @inlinable
    public init(_ value: consuming Value) {
        unsafe address = Atomic(GuardedValue.allocate(value))
    }

    @inlinable
    deinit {
        unsafe GuardedValue.free(address.load(ordering: .relaxed))
    }

    /// Lends the value to `body`, without copying it.
    ///
    /// The strategy keeps writers out meanwhile.
    @inlinable
    @inline(__always)
    public func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the strategy keeps writers out.
        try unsafe storage.pointee.read(body)
    }

    /// Lends the value to `body`, which may change it.
    ///
    /// The strategy keeps everybody else out meanwhile.
    @inlinable
    @inline(__always)
    public func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // SAFETY: the strategy keeps everybody else out.
        try unsafe storage.pointee.write(body)
    }

    /// The address of the value, for a strategy that never publishes another one.
    ///
    /// Relaxed: the address never changes, and what is stored there is ordered by the strategy.
    @inlinable var storage: UnsafeMutablePointer<Storage<Value>> {
        unsafe address.load(ordering: .relaxed)
    }

    /// Moves the value out.
    ///
    /// The memory must be filled again before the next access.
    @inlinable
    func take() -> Value {
        unsafe storage.move().taken()
    }

    /// Moves a value into memory from which one was taken.
    @inlinable
    func put(_ value: consuming Value) {
        unsafe storage.initialize(to: Storage(value))
    }

    @inlinable
    static func allocate(_ value: consuming Value) -> UnsafeMutablePointer<Storage<Value>> {
        let storage = UnsafeMutablePointer<Storage<Value>>.allocate(capacity: 1)
        unsafe storage.initialize(to: Storage(value))
        return unsafe storage
    }

    @inlinable
    static func free(_ storage: UnsafeMutablePointer<Storage<Value>>) {
        unsafe storage.deinitialize(count: 1)
        unsafe storage.deallocate()
    }
}

/// A value that is only ever borrowed.
///
/// It is not copyable, so the compiler passes the value in place to a body that reads it. A
/// copyable value would be copied first; for a dictionary or a string that means two atomic
/// operations on its reference count, in a cache line that all readers share. With this type a read
/// costs only the strategy.
@usableFromInline
struct Storage<Value>: ~Copyable {
    @usableFromInline var value: Value

    @inlinable
    init(_ value: consuming Value) {
        self.value = value
    }

    @inlinable
    borrowing func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(value)
    }

    @inlinable
    mutating func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(&value)
    }

    @inlinable
    consuming func taken() -> Value {
        value
    }
}

/// Accesses to several values, all of which the caller holds.
@usableFromInline
enum SeveralValues {
    /// Runs `body` with copies that end before this returns.
    ///
    /// Otherwise the next writer would find its value shared and copy it.
    @inlinable
    static func read<Value, Result, Failure: Error>(
        _ guarded: [GuardedValue<Value>],
        _ body: ([Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(guarded.map { $0.read { $0 } })
    }

    /// Runs `body` with the values themselves, moved out for the time of the call.
    @inlinable
    static func write<Value, Result, Failure: Error>(
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

    @inlinable
    static func expect(_ count: Int, of expected: Int) {
        precondition(count == expected, "A body that writes several values keeps their number.")
    }
}
