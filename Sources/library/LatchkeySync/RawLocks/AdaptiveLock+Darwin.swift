#if !os(Linux)
internal import CLatchkeySystem
internal import Synchronization

/// `os_unfair_lock`, where there is no futex: it spins in the kernel's way and then sleeps.
///
/// Not tested: Latchkey is tested on Linux. It cannot be waited for with a deadline, nor for a
/// change of the value.
///
/// **Design.** The first word is the `os_unfair_lock`, whose first state is 0. The system's lock
/// knows its owner: a thread that enters again stops.
public struct AdaptiveLock: InPlaceLock {
    /// The promise.
    @inlinable public static var rawLockPromise: Promise<Self> { unsafe .unchecked() }

    private let memory: LockMemory

    /// Makes a lock that is free.
    public init(in memory: LockMemory) { self.memory = memory }

    /// Waits until the calling thread holds the lock.
    public func lock() {
        unsafe withWord { word in unsafe latchkey_system_unfair_lock(word) }
    }

    /// Takes the lock if that is possible at once.
    public func tryLock() -> Bool {
        unsafe withWord { word in unsafe latchkey_system_unfair_try_lock(word) }
    }

    /// Releases the lock.
    public func unlock() {
        unsafe withWord { word in unsafe latchkey_system_unfair_unlock(word) }
    }

    // SAFETY: the word is in an object, which the lock keeps, and an object does not move.
    private func withWord<Result>(_ body: (UnsafeMutableRawPointer) -> Result) -> Result {
        unsafe withUnsafePointer(to: memory.first) { word in
            unsafe body(UnsafeMutableRawPointer(mutating: word))
        }
    }
}
#endif
