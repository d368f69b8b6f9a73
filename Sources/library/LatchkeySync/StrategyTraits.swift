/// The promises of a strategy as data.
///
/// `GET /v1/strategies`, the command line and the documentation print them, and the laws use them.
///
/// A type that states its traits makes the promises of ``Strategy`` and ``RawLock``, above all that
/// a writer is alone inside. The compiler cannot check that, and memory is safe only if it is true:
/// so a type that conforms makes a ``Promise``, which is `unsafe`.
public struct StrategyTraits: Sendable, Hashable {
    /// A thread that is inside may enter again to read.
    public var isReentrant: Bool
    /// Several readers can be inside at once.
    public var allowsConcurrentReaders: Bool
    /// A reader enters while a writer is inside, and sees the value from before that write.
    public var readsDuringWrites: Bool
    /// A caller that cannot enter at once blocks its thread.
    public var blocksCaller: Bool
    /// A submitted write is accepted at once and applied later, on another thread.
    ///
    /// A strategy that ``blocksCaller`` and does not say so must apply a submitted write, and call
    /// its completion, before the call returns: ``Striped`` relies on that.
    public var appliesWritesAsynchronously: Bool
    /// The caller that has waited longest enters next: no later one can overtake it, whatever the
    /// priorities of threads and tasks.
    public var handsOffFairly: Bool
    /// A waiting caller uses its processor for a while before, or instead of, blocking.
    public var spins: Bool
    /// A waiting caller never sleeps: it uses a processor until it enters.
    ///
    /// Yielding is no sleep. True only where ``spins`` is. No table has it.
    public var keepsPolling: Bool
    /// The primitive that callers wait at comes with the platform: the system, Foundation or the
    /// standard library.
    ///
    /// Among equally good strategies, `latchkey compare` recommends such a one. No table has it.
    public var comesWithPlatform: Bool
    /// A caller that cannot enter at once is reported to ``EntryObserver/isBlocked(_:)``.
    ///
    /// Where it is not, a meter estimates contention by samples of the thread inside. A lock tells
    /// of waiting because it is tried first: false only where a failed try is expensive. No table
    /// has it: a report says itself whether its counts are exact.
    public var tellsOfWaiting: Bool

    /// Exactly the given traits.
    @inlinable public init(
        isReentrant: Bool = false,
        allowsConcurrentReaders: Bool = false,
        readsDuringWrites: Bool = false,
        blocksCaller: Bool = true,
        appliesWritesAsynchronously: Bool = false,
        handsOffFairly: Bool = false,
        spins: Bool = false,
        keepsPolling: Bool = false,
        comesWithPlatform: Bool = false,
        tellsOfWaiting: Bool = true
    ) {
        self.isReentrant = isReentrant
        self.allowsConcurrentReaders = allowsConcurrentReaders
        self.readsDuringWrites = readsDuringWrites
        self.blocksCaller = blocksCaller
        self.appliesWritesAsynchronously = appliesWritesAsynchronously
        self.handsOffFairly = handsOffFairly
        self.spins = spins
        self.keepsPolling = keepsPolling
        self.comesWithPlatform = comesWithPlatform
        self.tellsOfWaiting = tellsOfWaiting
    }
}

extension StrategyTraits {
    /// For an unknown strategy: it blocks, and has no other trait.
    package static let unknown = StrategyTraits()

    /// Whether several values are best in one stripe: no thread may wait inside one value for the
    /// next, so that holding several takes a task for each.
    package var prefersOneStripe: Bool { !blocksCaller }
}

extension StrategyTraits {
    /// A trait's name in JSON and in print, and its value for a strategy.
    package typealias Column = (
        json: String, text: String, value: @Sendable (StrategyTraits) -> Bool
    )

    /// The traits that tables show, in their order.
    package static let columns: [Column] = [
        ("reentrant", "re-entrant", { $0.isReentrant }),
        ("concurrentReaders", "concurrent readers", { $0.allowsConcurrentReaders }),
        ("readsDuringWrites", "reads during writes", { $0.readsDuringWrites }),
        ("blocksCaller", "blocks the caller", { $0.blocksCaller }),
        ("asynchronousWrites", "asynchronous writes", { $0.appliesWritesAsynchronously }),
        ("fairHandOff", "fair hand-off", { $0.handsOffFairly }),
        ("spins", "spins", { $0.spins }),
    ]
}
