public import Synchronization

/// The place of a guarded value.
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
    public let address: Atomic<UnsafeMutablePointer<Value>>

    @inlinable
    public init(_ value: consuming sending Value) {
        let memory = UnsafeMutablePointer<Value>.allocate(capacity: 1)
        unsafe memory.initialize(to: value)
        unsafe address = Atomic(memory)
    }

    @inlinable
    deinit {
        let memory = unsafe address.load(ordering: .relaxed)
        unsafe memory.deinitialize(count: 1)
        unsafe memory.deallocate()
    }

    /// The value's memory, for a strategy that never publishes another address.
    ///
    /// Relaxed: the address never changes, and what is stored there is ordered by the strategy.
    @inlinable public var memory: UnsafeMutablePointer<Value> {
        unsafe address.load(ordering: .relaxed)
    }
}
