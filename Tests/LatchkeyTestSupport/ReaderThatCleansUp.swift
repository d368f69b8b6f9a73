import Foundation
public import LatchkeyStrategies

/// Readers never wait, but the last one to leave frees what writers have replaced, for as long as
/// they go on.
///
/// **Design.** `state` guards the variables and is never held while a body runs or a value ends;
/// `writers` admits one writer at a time.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `state` is held.
public final class ReaderThatCleansUp: BlockingStrategy, @unchecked Sendable {
    /// The promise.
    public static var strategyPromise: Promise<ReaderThatCleansUp> { unsafe .unchecked() }

    /// The promise.
    public static var blockingPromise: Promise<ReaderThatCleansUp> { unsafe .unchecked() }

    /// The strategy's name in messages.
    public static let name = "reader-that-cleans-up"

    /// The promises of the strategy.
    public static let traits = StrategyTraits(
        isReentrant: true,
        allowsConcurrentReaders: true,
        readsDuringWrites: true
    )

    private let writers = NSLock()
    private let state = NSLock()
    private var readerCount = 0
    private var isCleaning = false
    private var current: (any Sendable)?
    private var replaced: [any Sendable] = []

    /// Makes a strategy for one value.
    public init() {}

    /// Publishes the first version.
    public func begin<Value>(_ guarded: GuardedValue<Value>) {
        current = unsafe Version(guarded.read { $0.value })
    }

    /// Lets readers in at once, and writers one at a time.
    public func access<Observer: EntryObserver, Result: ~Copyable, Failure: Error>(
        _ request: AccessRequest,
        observer: Observer,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if request.mode == .read {
            state.lock()
            readerCount += 1
            state.unlock()
            defer { leave() }
            return try body()
        }
        writers.lock()
        defer { writers.unlock() }
        return try body()
    }

    /// Lends the version of this moment, which is kept while a reader is inside.
    public func reading<Value: ~Copyable, Result: ~Copyable, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (borrowing LentValue<Value>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        state.lock()
        let current = current
        state.unlock()
        guard let version = current as? Version<Value> else {
            preconditionFailure("A value was read before it began.")
        }
        return try body(version.lent)
    }

    private func leave() {
        state.lock()
        readerCount -= 1
        while readerCount == 0, !replaced.isEmpty {
            isCleaning = true
            endReplaced()
        }
        isCleaning = false
        state.unlock()
    }

    /// Lets go of the values while `state` is unlocked.
    private func endReplaced() {
        var ended = replaced
        replaced = []
        state.unlock()
        ended.removeAll()
        state.lock()
    }

    /// Lends the value and publishes a copy.
    public func writing<Value, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let result = try unsafe guarded.write(body)
        let version = unsafe Version(guarded.read { $0.value })
        state.lock()
        if readerCount > 0 || isCleaning, let current {
            replaced.append(current)
        }
        current = version
        state.unlock()
        return result
    }

    /// Not for the laws that it is made for.
    public func hold<Observer: EntryObserver>(
        _ request: AccessRequest,
        observer: Observer
    ) -> Release {
        preconditionFailure("This strategy cannot be held.")
    }

    /// SAFETY: `@unchecked Sendable` because a version does not change.
    private final class Version<Value: ~Copyable>: @unchecked Sendable {
        let lent: LentValue<Value>

        init(_ value: consuming Value) {
            lent = LentValue(value)
        }
    }
}
