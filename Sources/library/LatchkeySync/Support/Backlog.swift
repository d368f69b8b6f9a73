public import Synchronization

/// The limited counts of the accesses that a strategy has accepted and that have not left, with a
/// line of tasks that wait for room.
///
/// **Design.** Counts beside a queue or an actor, which has no limit: a million waiting blocks take
/// 190 MB before their payload. At the limit an access is refused with ``BacklogFull``, or its task
/// waits in ``WaitingLine``; one that leaves makes room. One word has both counts:
///
/// | bits       | meaning                            |
/// |------------|------------------------------------|
/// | 0 ..< 31   | readers                            |
/// | 32 ..< 63  | writers                            |
/// | 63         | tasks stand in line                |
///
/// While the last bit is set, all enter through the line only, so none overtakes it. An access that
/// leaves sees the bit in the same step and lets in the first of the line. A task that joins the
/// line sets the bit first and then looks for room itself: so either it sees the room, or the
/// access that made the room sees the bit.
///
/// All orderings are relaxed: the counts order nothing, the queue or the actor does, and the line
/// has a lock.
@usableFromInline struct Backlog: ~Copyable, Sendable {
    @usableFromInline static var isWaitedFor: UInt64 { 1 << 63 }

    @usableFromInline let word = Atomic<UInt64>(0)

    /// Where a strategy keeps the tasks that wait.
    @usableFromInline let line = WaitingLine()

    /// At most this many readers, and as many writers.
    @usableFromInline let max: Int32

    /// - Parameter max: At most 1,000,000,000; a larger number is cut to that.
    @usableFromInline init(max: Int) {
        precondition(max > 0, "A backlog holds at least one write.")
        self.max = Int32(clamping: Swift.min(max, 1_000_000_000))
    }

    /// How many writes were accepted and have not left.
    @inlinable var writeCount: Int {
        Self.count(.write, in: word.load(ordering: .relaxed))
    }

    @inlinable @inline(__always) static func one(_ mode: AccessMode) -> UInt64 {
        mode == .read ? 1 : 1 << 32
    }

    @inlinable @inline(__always) static func count(_ mode: AccessMode, in word: UInt64) -> Int {
        Int((mode == .read ? word : word >> 32) & 0x7FFF_FFFF)
    }

    /// Counts the caller if there is room and the line is empty.
    @inlinable @inline(__always) func tryEnter(_ mode: AccessMode) -> Admission {
        tryEnter(mode, unless: Self.isWaitedFor)
    }

    @inlinable @inline(__always)
    func tryEnter(_ mode: AccessMode, unless refusing: UInt64) -> Admission {
        var seen = word.load(ordering: .relaxed)
        while seen & refusing == 0 && Self.count(mode, in: seen) < max {
            let (exchanged, original) = word.weakCompareExchange(
                expected: seen,
                desired: seen + Self.one(mode),
                ordering: .relaxed
            )
            if exchanged { return seen == 0 ? .alone : .behindOthers }
            seen = original
        }
        return .full
    }

    /// Counts the caller, or refuses it; true if no other is there.
    @inlinable @discardableResult func enter(_ mode: AccessMode) throws(BacklogFull) -> Bool {
        let admission = tryEnter(mode)
        guard admission != .full else { throw BacklogFull() }
        return admission == .alone
    }

    /// Counts the caller, whether there is room or not.
    @inlinable func enterBeyondBound(_ mode: AccessMode) {
        word.add(Self.one(mode), ordering: .relaxed)
    }

    /// Ends the count of the caller.
    @inlinable @inline(__always) func leave(_ mode: AccessMode) {
        let before = word.subtract(Self.one(mode), ordering: .relaxed).oldValue
        if before & Self.isWaitedFor != 0 {
            advanceLine()
        }
    }
}

/// The answer of a ``Backlog`` to an access that asked for room.
@usableFromInline enum Admission {
    case alone
    case behindOthers
    case full
}

extension Backlog {
    /// Enters each of several backlogs, or none.
    @inlinable static func enterAll(
        _ count: Int,
        enter: (Int) throws(BacklogFull) -> Void,
        leave: (Int) -> Void
    ) throws(BacklogFull) {
        for index in 0..<count {
            do throws(BacklogFull) {
                try enter(index)
            } catch {
                for entered in 0..<index {
                    leave(entered)
                }
                throw error
            }
        }
    }
}
