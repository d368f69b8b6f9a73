/// A lock without data: a word or a handle.
///
/// The first of three layers. A raw lock knows nothing of the value that it protects; a strategy
/// turns it into shared and exclusive access; ``Synchronized`` owns the value. Only raw locks have
/// methods that are called `lock` and `unlock`.
///
/// A lock of your own is a type with `init()`, `lock()`, `tryLock()`, `unlock()`, `traits` and
/// `rawLockPromise`, which is `unsafe`; ``RawLockStrategy`` makes a strategy of it. Shared access
/// is exclusive unless the lock implements the shared functions. It must not be recursive. A lock
/// that is one or two words conforms to ``InPlaceLock`` and then costs no allocation of its own.
public protocol RawLock: Sendable {
    /// Makes a lock that is free.
    init()

    /// Makes a lock that is free, for a value whose memory has room for two words.
    ///
    /// - Parameter memory: Used for nothing else. A lock need not use it.
    init(in memory: LockMemory)

    /// Waits until the calling thread holds the lock.
    func lock()

    /// Takes the lock if that is possible at once.
    func tryLock() -> Bool

    /// Releases the lock.
    ///
    /// The calling thread must hold it: another one can corrupt the lock.
    func unlock()

    /// Waits until the calling thread shares the lock with other readers.
    func lockShared()

    /// Shares the lock if that is possible at once.
    func tryLockShared() -> Bool

    /// Ends sharing. The calling thread must share the lock.
    func unlockShared()

    /// The name of the lock in messages.
    static var name: String { get }

    /// One sentence about the lock, for tables.
    static var summary: String { get }

    /// The promises of a strategy with this lock.
    ///
    /// A lock for which ``StrategyTraits/tellsOfWaiting`` is false is never tried before it is
    /// waited for.
    static var traits: StrategyTraits { get }

    /// That the holder of the lock is alone, and sees the writes of earlier holders.
    static var rawLockPromise: Promise<Self> { get }
}

/// A raw lock with a case in ``StrategyKind``.
///
/// The only place that gives the strategy's name and promises.
public protocol NamedLock: RawLock {
    /// The case.
    static var kind: StrategyKind { get }
}

extension NamedLock {
    /// The kind's name.
    public static var name: String { kind.rawValue }
}

extension RawLock {
    /// Makes a lock that is free, and does not use the memory.
    @inlinable public init(in memory: LockMemory) { self.init() }

    /// The exclusive way in.
    @inlinable public func lockShared() { lock() }

    /// The exclusive way in.
    @inlinable public func tryLockShared() -> Bool { tryLock() }

    /// The exclusive way out.
    @inlinable public func unlockShared() { unlock() }

    /// The name of the type.
    public static var name: String { "\(Self.self)" }

    /// Empty.
    public static var summary: String { "" }

    @inlinable @inline(__always) func lock(_ mode: AccessMode) {
        switch mode {
        case .read: lockShared()
        case .write: lock()
        }
    }

    @inlinable @inline(__always) func tryLock(_ mode: AccessMode) -> Bool {
        switch mode {
        case .read: tryLockShared()
        case .write: tryLock()
        }
    }

    @inlinable @inline(__always) func unlock(_ mode: AccessMode) {
        switch mode {
        case .read: unlockShared()
        case .write: unlock()
        }
    }
}
