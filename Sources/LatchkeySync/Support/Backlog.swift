public import Synchronization

/// The bounded count of writes that an asynchronous strategy has accepted and not yet applied.
///
/// **Design.** A count beside a queue. The queue itself is unbounded: a million waiting blocks take
/// 190 MB before their payload. At the bound the next write is refused with ``BacklogFull``; one
/// that is applied makes room.
@usableFromInline
final class Backlog: Sendable {
    @usableFromInline let max: Int
    @usableFromInline let waiting = Atomic<Int>(0)

    @inlinable
    init(max: Int) {
        precondition(max > 0, "A backlog holds at least one write.")
        self.max = max
    }

    /// Relaxed, here and below: the count orders nothing, the queue does.
    @inlinable var count: Int { waiting.load(ordering: .relaxed) }

    @inlinable
    func accept() throws(BacklogFull) {
        if waiting.add(1, ordering: .relaxed).newValue > max {
            waiting.subtract(1, ordering: .relaxed)
            throw BacklogFull()
        }
    }

    /// Accepts one write to each, or to none.
    @inlinable
    static func accept(_ backlogs: [Backlog]) throws(BacklogFull) {
        for (index, backlog) in backlogs.enumerated() {
            do throws(BacklogFull) {
                try backlog.accept()
            } catch {
                for accepted in backlogs[..<index] {
                    accepted.applied()
                }
                throw error
            }
        }
    }

    @inlinable
    func applied() {
        waiting.subtract(1, ordering: .relaxed)
    }
}

/// What bounds the backlog of ``SerialQueueAsyncStrategy``, ``BarrierQueueAsyncStrategy`` and
/// ``ActorStrategy`` unless they are told otherwise.
public enum BacklogBound {
    /// 4096 writes per strategy instance: at a few hundred bytes each about a megabyte, and some
    /// milliseconds of work.
    public static let standard = 4096
}
