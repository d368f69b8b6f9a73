/// A promise of a conformance that the compiler cannot check, although memory is safe only if it is
/// true: that a lock excludes, that a strategy lets a writer in alone.
///
/// So conforming is unsafe: each protocol whose conformance is believed requires a promise, which
/// ``unchecked()`` makes. Code that is compiled with `-strict-memory-safety` has to write `unsafe`
/// before it; the compiler asks other code for nothing, and only the name warns its reader.
///
/// ```swift
/// import Synchronization
///
/// final class OneLock: RawLock {
///     static var rawLockPromise: Promise<OneLock> { unsafe .unchecked() }
///     static var traits: StrategyTraits { StrategyTraits(spins: true) }
///
///     private let isHeld = Atomic(false)
///
///     func lock() { while !tryLock() {} }
///     func tryLock() -> Bool { !isHeld.exchange(true, ordering: .acquiring) }
///     func unlock() { isHeld.store(false, ordering: .releasing) }
/// }
/// ```
///
/// A type cannot pass on the promise of another one, because the type says whose promise it is.
/// Code that relies on the promise asks for it first, so that a property that never returns is no
/// way around it.
public struct Promise<Promising>: Sendable {
    @inlinable init() {}

    /// The promise of a type, which nothing checks.
    @unsafe @inlinable public static func unchecked() -> Self { Self() }
}
