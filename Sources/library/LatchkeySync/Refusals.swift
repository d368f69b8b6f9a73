// Why an access does not take place, and the limits for accesses that wait.

/// A task's access did not take place.
public enum AccessRefused: Error, Hashable, Sendable {
    /// As many accesses wait as the strategy accepts, and the caller did not want to wait.
    case backlogFull
    /// The task was cancelled before the access entered.
    case cancelled
}

/// The choice of a task when as many accesses wait as the strategy accepts.
public enum WhenFull: Hashable, Sendable {
    /// It waits for room: first come, first served. Cancelling the task ends the wait.
    ///
    /// Readers and writers wait in one line, which has no limit of its own: each task in it exists
    /// already. While a task is in the line, no other task overtakes it, and a caller that does not
    /// wait is refused.
    case wait
    /// It gets ``AccessRefused/backlogFull``.
    case refuse
}

/// An asynchronous strategy refused an access because its backlog is full.
public struct BacklogFull: Error, Hashable, Sendable {
    /// The error.
    @inlinable public init() {}
}

/// The default limit for the backlog of ``SerialQueueAsyncStrategy``, ``BarrierQueueAsyncStrategy``
/// and ``ActorStrategy``.
public enum BacklogBound {
    /// 4096 writes, and as many reads, per strategy instance: at a few hundred bytes each about a
    /// megabyte, and some milliseconds of work.
    public static let standard = 4096
}
