internal import Synchronization

/// Locks for objects that have none, like `@synchronized(object)` in Objective-C.
///
/// ```swift
/// final class Account {
///     var balance = 0
/// }
///
/// let account = Account()
/// Monitor.synchronized(on: account) {
///     account.balance += 10
/// }
/// ```
///
/// **Design.** A table of ``bucketCount`` buckets, chosen by the object's address. A bucket holds
/// entries, each a recursive lock and the count of threads that use it now. An access looks up
/// or claims the object's entry under the bucket's lock, counts itself, and waits for the entry's
/// lock outside of it. An unused entry is claimed by the next object that needs one, so
/// there are never more entries than objects were locked at once. Entries are never freed.
public enum Monitor {
    /// Runs `body` while the calling thread holds `object`'s lock.
    ///
    /// Blocks while another thread holds it. The same thread may enter again. Nothing stops code
    /// that does not go through here from using the object.
    public static func synchronized<Result, Failure: Error>(
        on object: AnyObject,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let entry = entry(for: ObjectIdentifier(object))
        entry.lock.lock()
        defer { entry.leave() }
        return try body()
    }

    /// With this many, two objects in use at once rarely share a bucket; if they do, a look-up
    /// takes longer.
    static let bucketCount = 64

    static let buckets = (0..<bucketCount).map { _ in MonitorBucket() }

    static func entry(for object: ObjectIdentifier) -> MonitorEntry {
        let address = UInt(bitPattern: object)
        // Objects are 16 bytes apart at least. The second term spreads objects of one size.
        let index = Int(((address >> 4) ^ (address >> 9)) % UInt(bucketCount))
        return buckets[index].entry(for: object)
    }
}

/// The entries of the objects whose addresses fall into one bucket.
///
/// SAFETY: `@unchecked Sendable` because `entries` is used only while `lock` is held.
final class MonitorBucket: @unchecked Sendable {
    private let lock = AdaptiveLock()
    private var entries: [MonitorEntry] = []

    /// The object's entry, with the calling thread counted as a user.
    func entry(for object: ObjectIdentifier) -> MonitorEntry {
        lock.lock()
        defer { lock.unlock() }
        var unused: MonitorEntry?
        for entry in entries {
            // Acquiring: pairs with the subtraction in leave(), so that a claimed entry's lock is
            // seen free.
            if entry.users.load(ordering: .acquiring) == 0 {
                unused = entry
            } else if entry.object == object {
                entry.users.add(1, ordering: .relaxed)
                return entry
            }
        }
        let entry = unused ?? MonitorEntry()
        if unused == nil {
            entries.append(entry)
        }
        entry.object = object
        entry.users.store(1, ordering: .relaxed)
        return entry
    }
}

/// One object's recursive lock, while a thread uses it.
///
/// SAFETY: `@unchecked Sendable` because `object` is used only while the bucket's lock is held.
final class MonitorEntry: @unchecked Sendable {
    let lock = PthreadMutexLock(type: PthreadMutexLock.recursive)
    let users = Atomic<Int>(0)
    var object: ObjectIdentifier?

    /// Releases the lock, and only then the entry.
    func leave() {
        lock.unlock()
        users.subtract(1, ordering: .releasing)
    }
}

/// A raw lock that has only its identity: the monitor's table holds the lock.
///
/// **Design.** `entry` is written by the thread that holds the entry's lock. Nested calls of that
/// thread store the same entry again. Atomic, relaxed, only to spare Swift's check of class
/// variables.
///
/// SAFETY: `@safe` because the reference that is stored unmanaged is to an entry of the table, and
/// those are never freed.
@safe
public final class MonitorLock: RecursiveLock {
    /// The promise.
    @inlinable public static var recursiveLockPromise: Promise<MonitorLock> { unsafe .unchecked() }

    private let entry: Atomic<Unmanaged<MonitorEntry>?>

    /// Makes a lock that is free.
    public init() {
        unsafe entry = Atomic(nil)
    }

    /// Waits until the calling thread holds the lock.
    public func lock() {
        let entry = Monitor.entry(for: ObjectIdentifier(self))
        entry.lock.lock()
        unsafe self.entry.store(.passUnretained(entry), ordering: .relaxed)
    }

    /// Takes the lock if that is possible at once.
    public func tryLock() -> Bool {
        let entry = Monitor.entry(for: ObjectIdentifier(self))
        guard entry.lock.tryLock() else {
            entry.users.subtract(1, ordering: .releasing)
            return false
        }
        unsafe self.entry.store(.passUnretained(entry), ordering: .relaxed)
        return true
    }

    /// Releases the lock.
    public func unlock() {
        // SAFETY: entries are never freed.
        guard let entry = unsafe entry.load(ordering: .relaxed) else {
            preconditionFailure("A monitor lock was unlocked by a thread that does not hold it.")
        }
        unsafe entry._withUnsafeGuaranteedRef { $0.leave() }
    }

    /// The strategy's case.
    public static let kind = StrategyKind.monitor

    /// The strategy in one sentence.
    public static let summary = "A recursive lock found by object identity, as @synchronized does."

    /// The promises of the strategy, and re-entry, which ``NestedReadLock`` adds.
    @inlinable public static var traits: StrategyTraits { StrategyTraits() }
}

/// `monitor`: a recursive lock from a hashed table, found by an object's identity, as Objective-C's
/// `@synchronized(object)`.
///
/// Only a read inside a read is allowed; any other re-entry stops the process in every build.
///
/// - *Use when* the object to lock cannot have a lock of its own.
/// - *Cost:* a look-up for every access.
public typealias MonitorStrategy = RawLockStrategy<NestedReadLock<MonitorLock>>
