public import LatchkeySync
import Synchronization

/// The value that the laws guard.
public struct LawState: Sendable {
    /// Counts writes.
    public var count = 0

    /// Follows `count` within each write.
    public var copy = 0

    /// The numbers written, in order.
    public var log: [Int] = []

    /// Says when it is freed.
    public var tracked: Tracked?

    /// Nothing was written yet.
    public init() {}
}

/// Says when it is freed.
///
/// **Design.** The atomic word is the object's life: a reader under a broken strategy may look at
/// it after it was freed, and relaxed order is enough for a guess.
public final class Tracked: Sendable {
    private let freed: Arrivals
    private let freedAgain: Arrivals
    private let life = Atomic<Int>(Tracked.alive)

    private static let alive = 0x1A7C_4B0E

    /// - Parameters:
    ///   - freed: Arrives there when it is freed.
    ///   - again: Arrives there, very probably, when it is freed once more.
    public init(_ freed: Arrivals, again: Arrivals = Arrivals()) {
        self.freed = freed
        freedAgain = again
    }

    /// False, very probably, if this is read after it was freed.
    public var isAlive: Bool { life.load(ordering: .relaxed) == Self.alive }

    deinit {
        if life.exchange(0, ordering: .relaxed) == Self.alive {
            freed.arrive()
        } else {
            freedAgain.arrive()
        }
    }
}

/// A guarded ``LawState`` as the laws use it, whatever the access functions: an access returns when
/// its body has run.
public struct Subject: Sendable {
    /// A way to run a body inside.
    public typealias Access<Body> = @Sendable (Body) -> Void

    /// Runs a body for reading.
    public let read: @Sendable (@escaping @Sendable (LawState) -> Void) -> Void

    /// Runs a body for writing.
    public let write: @Sendable (@escaping @Sendable (inout LawState) -> Void) -> Void

    init(
        read: @escaping @Sendable (@escaping @Sendable (LawState) -> Void) -> Void,
        write: @escaping @Sendable (@escaping @Sendable (inout LawState) -> Void) -> Void
    ) {
        (self.read, self.write) = (read, write)
    }

    /// Through the blocking access functions.
    public init<ChosenStrategy: BlockingStrategy>(
        blocking synchronized: Synchronized<LawState, ChosenStrategy>
    ) {
        read = { synchronized.read($0) }
        write = { synchronized.write($0) }
    }

    /// Through the submitting access functions, waiting for the completion.
    public init<ChosenStrategy: Strategy>(
        submitting synchronized: Synchronized<LawState, ChosenStrategy>
    ) {
        read = { body in
            let completed = Gate()
            Self.submit { () throws(BacklogFull) in
                try synchronized.submitRead(body) { completed.open() }
            }
            completed.pass()
        }
        write = { body in
            let completed = Gate()
            Self.submit { () throws(BacklogFull) in
                try synchronized.submitWrite(body) { completed.open() }
            }
            completed.pass()
        }
    }

    /// Asks again where a small backlog is full, while the others' accesses go on.
    private static func submit(_ access: () throws(BacklogFull) -> Void) {
        while (try? access()) == nil {
            Yield.now()
        }
    }

    /// Through the access functions for tasks, in a task that runs on the calling thread until it
    /// is suspended.
    @available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *)
    public init<ChosenStrategy: Strategy>(
        awaiting synchronized: Synchronized<LawState, ChosenStrategy>
    ) {
        read = { body in
            let ended = Gate()
            Task.immediate {
                try? await synchronized.asyncRead(body)
                ended.open()
            }
            ended.pass()
        }
        write = { body in
            let ended = Gate()
            Task.immediate {
                try? await synchronized.asyncWrite(body)
                ended.open()
            }
            ended.pass()
        }
    }
}
