/// `snapshot`: an immutable value, swapped atomically.
///
/// A writer changes a copy and publishes it, unless its body throws. The value must have value
/// semantics.
///
/// A read inside a read is allowed. Without the re-entry check, a write inside a read takes effect
/// for later reads, a read inside a write sees the old value, and a write inside a write or
/// `readHoldingWriters` hangs.
///
/// **After `fork(2)`** the child may only read, and only if the forking thread was outside of all
/// reads, until it calls `exec`.
///
/// - *Guarantees:* a reader always enters at once, blocks no writer, and keeps the value it has
///   seen.
/// - *Use when* at least 90 % of the accesses read a small value: configuration, flags.
/// - *Not when* the value is large and changes: each write copies it, in the service a stripe. With
///   100,000 keys a write takes a thousand times as long as with one.
/// - *Trap:* two reads can see two values: read once. A reader that stays inside keeps old values
///   in memory.
///
/// ```sh
/// latchkey compare --strategies snapshot,lock --threads 2 --read-ratio 0.9 --keys 1,100000
/// ```
public struct SnapshotStrategy: MakeableStrategy, LockingStrategy {
    /// The promise.
    @inlinable public static var strategyPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var blockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The promise.
    @inlinable public static var lockingPromise: Promise<Self> { unsafe .unchecked() }

    /// The lock that admits one writer at a time.
    public typealias Lock = AdaptiveLock

    /// `snapshot`.
    public static let name = StrategyKind.snapshot.rawValue

    /// The strategy in one sentence.
    public static let summary =
        "An immutable value swapped atomically; readers never wait, writers copy."

    /// The promises of the strategy.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            isReentrant: true,
            allowsConcurrentReaders: true,
            readsDuringWrites: true
        )
    }

    /// Admits one writer at a time.
    @usableFromInline let writers: RawLockStrategy<Lock>

    /// The version that readers find.
    @usableFromInline let published: PublishedValue

    /// Makes a strategy for one value.
    public init() { self.init(in: LockMemory()) }

    /// Makes a strategy whose writers' lock is in the memory of the value.
    public init(in memory: LockMemory) { self.init(in: memory, epochs: .domain) }

    /// For tests: readers are counted apart from the rest of the process.
    init(in memory: LockMemory = LockMemory(), epochs: Epochs) {
        writers = RawLockStrategy(in: memory)
        published = PublishedValue(epochs)
    }

    /// Publishes the first version.
    @inlinable public func begin<Value>(_ guarded: GuardedValue<Value>) {
        published.begin(unsafe guarded.read { $0.value })
    }

    /// Enters at once to read; waits for other writers to write, and to read while no write takes
    /// effect.
    @inlinable @inline(__always)
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if Self.entersAtOnce(request) { return try enter(request, observer, body) }
        var replaced: Replaced?
        defer { discard(replaced) }
        return try writers.access(request, observer: observer) {
            () throws(Failure) -> Result in
            defer { replaced = published.takeReplaced() }
            return try body()
        }
    }

    /// Enters at once to read; to write if no other writer is inside.
    @inlinable public func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        if Self.entersAtOnce(request) { return try enter(request, observer, body) }
        var replaced: Replaced?
        defer { discard(replaced) }
        return try writers.tryAccess(request, observer: observer) {
            () throws(Failure) -> Result in
            defer { replaced = published.takeReplaced() }
            return try body()
        }
    }

    /// Enters at once to read; waits for other writers to write.
    @unsafe @inlinable
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        waiting wait: (Lock, _ isBlocked: () -> Void) -> AccessMode?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        if Self.entersAtOnce(request) { return try enter(request, observer, body) }
        var replaced: Replaced?
        defer { discard(replaced) }
        return try unsafe writers.access(request, observer: observer, waiting: wait) {
            () throws(Failure) -> Result in
            defer { replaced = published.takeReplaced() }
            return try body()
        }
    }

    /// Enters at once to read; to write, the task waits for other writers.
    @unsafe @inlinable
    nonisolated(nonsending) public func access<Observer: EntryObserver, Result: Sendable>(
        _ request: AccessRequest,
        observer: Observer,
        suspending wait:
            nonisolated(nonsending) (Lock, _ isBlocked: () -> Void) async ->
            AccessMode?,
        _ body: () -> Result
    ) async -> Result? {
        if Self.entersAtOnce(request) { return enter(request, observer, body) }
        var replaced: Replaced?
        defer { discard(replaced) }
        return await unsafe writers.access(request, observer: observer, suspending: wait) {
            defer { replaced = published.takeReplaced() }
            return body()
        }
    }

    /// Keeps writers out.
    @unsafe @inlinable public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        let release = unsafe writers.hold(request, observer: observer)
        return {
            let replaced = published.takeReplaced()
            release()
            discard(replaced)
        }
    }

    @inlinable static func entersAtOnce(_ request: AccessRequest) -> Bool {
        request.mode == .read && !request.keepsWritersOut
    }

    @inlinable @inline(__always)
    func enter<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        _ observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(request)
        let reading = published.epochs.enter()
        observer.enters(&entry)
        defer {
            // Before the observer hears of the end: freeing a value is a part of the reader's
            // access.
            published.epochs.leave(reading)
            observer.leaves(entry)
        }
        return try body()
    }

    /// Lends the version that is published.
    ///
    /// Nothing frees it: the caller has entered the epochs, or keeps writers out.
    @unsafe @inlinable @inline(__always)
    public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(published.version(of: Value.self).pointee)
    }

    /// Lends a copy and publishes it.
    @unsafe @inlinable public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var copy = unsafe reading(guarded) { $0.value }
        let result = try body(&copy)
        publish(copy, in: guarded)
        return result
    }

    /// Makes the value the one that readers and the next writer find.
    ///
    /// The caller holds the writers' lock. The version that readers had until now is freed after
    /// the lock is released, because the `deinit` of a value is the program's code. The old guarded
    /// value is released here. It is a copy of that version, so that nothing is destroyed.
    @inlinable func publish<Value>(_ value: Value, in guarded: GuardedValue<Value>) {
        published.replace(by: value)
        unsafe guarded.write { (current: inout Value) in current = value }
    }

    @inlinable func discard(_ replaced: Replaced?) {
        if let replaced {
            published.epochs.discard(replaced)
        }
    }
}
