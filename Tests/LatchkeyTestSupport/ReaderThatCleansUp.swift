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
    /// The strategy's name in messages.
    public static let name = "reader-that-cleans-up"

    /// What the strategy promises.
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
        current = Version(guarded.read { $0 })
    }

    /// Reads.
    public func read<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { leave() }
        return try enter(Value.self).read(body)
    }

    private func enter<Value>(_ value: Value.Type) -> Version<Value> {
        state.lock()
        defer { state.unlock() }
        readerCount += 1
        guard let version = current as? Version<Value> else {
            preconditionFailure("A value was read before it began.")
        }
        return version
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

    /// Writes.
    public func write<Value, Observer: EntryObserver, Result, Failure: Error>(
        _ guarded: GuardedValue<Value>,
        observer: Observer,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        writers.lock()
        defer { writers.unlock() }
        let result = try guarded.write(body)
        let version = Version(guarded.read { $0 })
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
        _ mode: AccessMode,
        observer: Observer
    ) -> Release {
        preconditionFailure("This strategy cannot be held.")
    }

    /// SAFETY: `@unchecked Sendable` because a version does not change.
    private final class Version<Value>: @unchecked Sendable {
        private let value: Value

        init(_ value: Value) {
            self.value = value
        }

        func read<Result, Failure: Error>(
            _ body: (Value) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try body(value)
        }
    }
}
