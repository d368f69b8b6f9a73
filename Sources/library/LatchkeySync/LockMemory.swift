public import Synchronization

/// The memory of a guarded value's lock, in the object that holds the value.
///
/// It has two words of 32 bits and, on Linux, a reference to the threads that wait for a condition.
/// Only the lock uses them. A lock and its value then take one allocation and one cache line. A
/// lock that needs more, or other, memory has an object of its own and leaves these words alone.
///
/// **Design.** Each lock's table says what its words mean, and who changes them.
///
/// SAFETY: `@unchecked Sendable` because both words are atomic; the compiler checks this for final
/// classes only.
public class LockMemory: @unchecked Sendable {
    /// The first word, which begins at 0.
    public let first = Atomic<UInt32>(0)

    /// The second word, which begins at 0.
    public let second = Atomic<UInt32>(0)

    #if os(Linux)
    /// The threads that wait for a condition; nil before the first wait.
    ///
    /// Only the holder of an ``AdaptiveLock`` uses it, which knows its type.
    @usableFromInline final var line: AnyObject?
    #endif

    /// Memory for one lock.
    ///
    /// Not public: code that has the words of a lock can change them without the lock.
    @inlinable package init() {}
}

/// A lock that is one or two words: ``RawLock/init(in:)`` keeps them in the memory of the value.
public protocol InPlaceLock: RawLock {}

extension InPlaceLock {
    /// Makes a lock that is free, in memory of its own.
    @inlinable public init() {
        self.init(in: LockMemory())
    }
}
