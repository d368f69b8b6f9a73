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
public typealias MonitorStrategy = RawLockStrategy<NestedReadLock<MonitorLock>>

extension MonitorLock: NamedLock {
    /// The strategy's case.
    public static let kind = StrategyKind.monitor

    /// The strategy in one sentence.
    public static let summary = "A recursive lock found by object identity, as @synchronized does."
}
