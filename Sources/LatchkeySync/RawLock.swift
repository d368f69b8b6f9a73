/// A lock without data: a word or a handle.
///
/// The first of three layers. A raw lock knows nothing of the value it protects; a strategy turns
/// it into shared and exclusive access; ``Synchronized`` owns the value. Only here are things
/// called `lock` and `unlock`.
public protocol RawLock: Sendable {
    init()

    /// Waits until the calling thread holds the lock.
    func lock()

    /// Takes the lock if that is possible at once.
    func tryLock() -> Bool

    /// Lets go. The calling thread must hold the lock.
    func unlock()
}
