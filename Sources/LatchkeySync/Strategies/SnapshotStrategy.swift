/// `snapshot`: an immutable value, swapped atomically.
///
/// Readers never wait and never block a writer. A writer changes a copy and publishes it.
///
/// A reader sees one whole value, which may be older than a write that happens meanwhile. If a
/// writer's body throws, nothing is published. A write copies the value. The old value is freed
/// when the readers that were inside have left, those of other snapshots included: by the write
/// itself if there are none, else by the last of those readers. A reader that leaves frees at most
/// 32 values; a dispatch queue frees the rest.
///
/// The value must have value semantics: a copy that a writer changes must not change what readers
/// use.
///
/// The same thread may read inside a read. In builds without the re-entry check, a write inside a
/// read takes effect for later reads, a read inside a write sees the value from before, and a write
/// inside a write hangs, as it does inside `readHoldingWriters`, and as that does inside itself.
///
/// - *Guarantees:* a reader enters at once, always, keeps the value it has seen, and does a bounded
///   part of the writers' work when it leaves.
/// - *Use it when* state is mostly read: configuration, routing tables, flags.
/// - *Not when* large values change often: each write copies the value, in the service a stripe.
/// - *Trap:* the copy grows with the value. With 100,000 keys in one value a write takes a thousand
///   times as long as with one. Two reads can see two different values: read once and use that. A
///   reader that stays inside for long keeps all old values of the process in memory.
///
/// ```sh
/// latchkey compare --strategies snapshot,lock --threads 2 --read-ratio 0.9 --keys 1,100000
/// ```
public struct SnapshotStrategy: NamedStrategy, TryingStrategy {
    /// The strategy's case.
    public static let kind = StrategyKind.snapshot

    /// The strategy in one sentence.
    public static let summary =
        "An immutable value swapped atomically; readers never wait, writers copy."

    /// What the strategy promises.
    @inlinable public static var traits: StrategyTraits {
        StrategyTraits(
            isReentrant: true,
            allowsConcurrentReaders: true,
            readsDuringWrites: true
        )
    }

    /// Admits one writer at a time.
    @usableFromInline let writers: RawLockStrategy<AdaptiveLock>

    /// What readers find.
    @usableFromInline let published: PublishedValue

    /// Makes a strategy for one value.
    public init() { self.init(in: LockMemory()) }

    /// Makes a strategy whose writers' lock is in the memory of the value.
    public init(in memory: LockMemory) { self.init(in: memory, epochs: .domain) }

    /// With readers counted apart from the rest of the process, for tests.
    init(in memory: LockMemory = LockMemory(), epochs: Epochs) {
        writers = RawLockStrategy(in: memory)
        published = PublishedValue(epochs)
    }

    /// Publishes the first version.
    @inlinable
    public func begin<Value>(_ guarded: GuardedValue<Value>) {
        published.begin(guarded.read { $0 })
    }

    /// Reads.
    @inlinable
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var entry = observer.asks(.read)
        let reading = published.epochs.enter()
        observer.enters(&entry)
        defer {
            // Before the observer hears of the end: what a reader frees is a part of its access.
            published.epochs.leave(reading)
            observer.leaves(entry)
        }
        return try unsafe published.version(of: Value.self).pointee.read(body)
    }

    /// Reads what the next writer would change.
    @inlinable
    public func readHoldingWriters<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try writers.read(guarded, observer: observer, body)
    }

    /// Writes.
    @inlinable
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try replace(guarded, observer, writers.enter(observer, .write), body)
    }

    /// Keeps writers out, unless the caller would have to wait.
    @inlinable
    public func tryAccess<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        try writers.tryAccess(observer: observer, body)
    }

    /// Writes if the caller need not wait.
    @inlinable
    public func tryWrite<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard let entry = writers.tryEnter(observer) else {
            return nil
        }
        return try replace(guarded, observer, entry, body)
    }

    /// Keeps writers out.
    @inlinable
    public func hold<Observer: EntryObserver>(
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        writers.hold(mode, observer: observer)
    }

    /// Publishes all values before it lets writers in.
    @inlinable
    public static func writeAll<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ strategies: [Self],
        _ guarded: [GuardedValue<Value>],
        observers: [Observer],
        _ body: (inout [Value]) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var replaced: [ReplacedVersions<Value>] = []
        defer {
            for (strategy, replaced) in zip(strategies, replaced) {
                strategy.discard(replaced)
            }
        }
        return try holding(.write, strategies, observers: observers) {
            () throws(Failure) -> Result in
            var values = guarded.map { $0.read { $0 } }
            let result = try body(&values)
            SeveralValues.expect(values.count, of: guarded.count)
            for (index, guarded) in guarded.enumerated() {
                replaced.append(strategies[index].publish(values[index], in: guarded))
            }
            return result
        }
    }

    /// Changes a copy, publishes it, and leaves the section that the calling thread has entered.
    ///
    /// What was replaced is disposed of after the lock is released.
    @inlinable
    func replace<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ observer: Observer,
        _ entry: Observer.Entry,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var replaced: ReplacedVersions<Value>?
        defer {
            writers.leave(observer, .write, entry)
            if let replaced {
                discard(replaced)
            }
        }
        var copy = guarded.read { $0 }
        let result = try body(&copy)
        replaced = publish(copy, in: guarded)
        return result
    }

    /// Makes the value the one that readers and the next writer find; returns the ones before.
    @inlinable
    func publish<Value>(_ value: Value, in guarded: GuardedValue<Value>) -> ReplacedVersions<Value>
    {
        let forReaders = published.replace(by: value)
        let forWriters = guarded.write { (current: inout Value) in
            let old = current
            current = value
            return old
        }
        return ReplacedVersions(forReaders: forReaders, forWriters: forWriters)
    }

    @inlinable
    func discard<Value>(_ replaced: ReplacedVersions<Value>) {
        published.epochs.discard(replaced.forReaders)
    }
}

/// What a write has replaced: kept until the writers' lock is released, because a value's `deinit`
/// is somebody else's code.
@usableFromInline
struct ReplacedVersions<Value> {
    @usableFromInline let forReaders: Replaced
    @usableFromInline let forWriters: Value

    @inlinable
    init(forReaders: Replaced, forWriters: Value) {
        self.forReaders = forReaders
        self.forWriters = forWriters
    }
}
