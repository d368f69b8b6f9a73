public import Synchronization

/// A value where only a borrow of it is ever handed out.
///
/// Not copyable on purpose: the compiler then passes the value in place to a body that reads it.
/// A copyable one would be copied first, which for a dictionary or a string means two atomic
/// operations on its reference count, on a line that all readers share. With this type a read
/// costs nothing beyond the strategy itself.
public struct Place<Value>: ~Copyable {
    @usableFromInline var value: Value

    @inlinable
    public init(_ value: consuming Value) {
        self.value = value
    }

    @inlinable
    public borrowing func read<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(value)
    }

    @inlinable
    public mutating func write<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(&value)
    }
}

/// Where a guarded value is.
///
/// Strategies give access to it; nothing else reads it.
///
/// **Design.** The cell owns the memory at ``address`` and the value in it. Locks and queues use
/// the memory in place and never change the address. ``SnapshotStrategy`` publishes a new address
/// for each write and disposes of the old one itself. The cell does no synchronization: that is
/// what a strategy is.
///
/// SAFETY: `@safe` because the class alone allocates and frees the memory, which is initialized
/// all the time in between; whoever reads `address` has to say `unsafe`. `@unchecked Sendable`
/// because every use of the memory is inside a strategy.
@safe
public final class Cell<Value: Sendable>: @unchecked Sendable {
    public let address: Atomic<UnsafeMutablePointer<Place<Value>>>

    @inlinable
    public init(_ value: consuming Value) {
        unsafe address = Atomic(Cell.allocate(value))
    }

    @inlinable
    deinit {
        unsafe Cell.free(address.load(ordering: .relaxed))
    }

    /// The value's place, for a strategy that never publishes another address.
    ///
    /// Relaxed: the address never changes, and what is stored there is ordered by the strategy.
    @inlinable public var place: UnsafeMutablePointer<Place<Value>> {
        unsafe address.load(ordering: .relaxed)
    }

    @inlinable
    static func allocate(_ value: consuming Value) -> UnsafeMutablePointer<Place<Value>> {
        let place = UnsafeMutablePointer<Place<Value>>.allocate(capacity: 1)
        unsafe place.initialize(to: Place(value))
        return unsafe place
    }

    @inlinable
    static func free(_ place: UnsafeMutablePointer<Place<Value>>) {
        unsafe place.deinitialize(count: 1)
        unsafe place.deallocate()
    }
}
