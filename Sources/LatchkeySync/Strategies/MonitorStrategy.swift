/// `monitor`: a recursive lock from a hashed table, found by an object's identity.
///
/// Objective-C's `@synchronized(object)` does the same.
///
/// The same thread may read inside a read. A write inside a read or a write, and a read inside a
/// write, stop the process in every build.
///
/// - *Guarantees:* re-entry for reading.
/// - *Use it when* the object to lock cannot have a lock of its own.
/// - *Not when* it can.
/// - *Trap:* every access pays for the look-up, also without contention, and unrelated objects
///   share the buckets of the table.
///
/// ```sh
/// latchkey compare --strategies monitor,recursive-lock --threads 1 --section 0 --outside 0
/// ```
public struct MonitorStrategy: NamedStrategy, LockingStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.monitor

    /// The strategy in one sentence.
    public static let summary = "A recursive lock found by object identity, as @synchronized does."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits { StrategyTraits(isReentrant: true) }

    /// The lock.
    public let rawLock: NestedReadLock<MonitorLock>

    /// Makes a strategy for one value.
    @inlinable public init() { rawLock = NestedReadLock() }

    /// Makes a strategy that counts nested reads in the memory of the value.
    @inlinable public init(in memory: LockMemory) { rawLock = NestedReadLock(in: memory) }
}
