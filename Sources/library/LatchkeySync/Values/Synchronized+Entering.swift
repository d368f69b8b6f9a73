// The common parts of all access functions that block: the check for re-entry, and the way in.

extension Synchronized where Value: ~Copyable, ChosenStrategy: BlockingStrategy {
    /// Runs `body` inside, in the name of an access function.
    @inlinable @inline(__always) func enter<Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        _ name: StaticString,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        _ = ChosenStrategy.blockingPromise
        return try Reentry.checking(strategy, guarded, request, name) {
            () throws(Failure) -> Result in
            try strategy.access(request, observer: NoObserver(), body)
        }
    }
}

extension Synchronized where Value: ~Copyable, ChosenStrategy: LockingStrategy {
    /// The same, unless the caller would have to wait.
    @inlinable @inline(__always) func tryEnter<Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        _ name: StaticString,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        _ = ChosenStrategy.lockingPromise
        return try Reentry.checking(strategy, guarded, request, name) {
            () throws(Failure) -> Result? in
            try strategy.tryAccess(request, observer: NoObserver(), body)
        }
    }

    /// The same, once `wait` has taken the lock.
    ///
    /// The check for re-entry treats the access as `checked`, if that is not `request`.
    @inlinable func enter<Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        _ name: StaticString,
        as checked: AccessRequest? = nil,
        waiting wait: (ChosenStrategy.Lock, _ isBlocked: () -> Void) -> AccessMode?,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        _ = ChosenStrategy.lockingPromise
        return try Reentry.checking(strategy, guarded, checked ?? request, name) {
            () throws(Failure) -> Result? in
            try unsafe strategy.access(request, observer: NoObserver(), waiting: wait, body)
        }
    }
}

// SAFETY: the bodies of access functions call these two, inside.

extension Synchronized {
    /// Lends the value to a body that reads.
    @inlinable @inline(__always) func reading<Result, Failure: Error>(
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe strategy.reading(guarded) { (lent) throws(Failure) -> Result in
            try lent.read(body)
        }
    }

    /// Lends the value to a body that may change it.
    @inlinable @inline(__always) func writing<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe strategy.writing(guarded, body)
    }
}
