public import CLatchkeySystem
public import LatchkeyMetrics
public import LatchkeySync
public import Synchronization

/// Sees the accesses to one guard and writes to the strategy's meter.
///
/// **Design.** The uncontended path has no read-modify-write instruction and no clock: it adds one
/// to the thread's own count and compares it with the count at which the next acquisition is to be
/// timed; inside, it leaves its mark in the guard's own word. Everything else is out of line.
///
/// *Which thread writes.* Each call writes to the cell of the thread that makes it, which for an
/// asynchronous strategy is another one when the access enters than when it asks. So every cell
/// has one writer, and only sums over threads mean something.
///
/// *The holder.* The guard's word has the thread that entered exclusively last, and whether it is
/// still inside. It is stored after entering and before leaving, thus by one thread at a time;
/// readers that can be inside together leave it alone, because storing it would make them contend.
/// Relaxed is enough: who is inside is alone and ordered by the strategy, and for who looks from
/// outside it is a guess that may be out of date, with one exception that is exact. A thread that
/// finds *itself* inside is inside: it reads nothing older than its own last store, and its last
/// store before it left said that it left.
///
/// *Re-entry.* So a thread that is blocked and finds itself inside waits for itself. It stops with
/// a sentence instead, in release builds too. What is submitted to run later may be submitted from
/// inside and is not checked. Not found is who holds shared access and asks for exclusive.
///
/// *Mutex.* It must not be tried (a failed try makes the holder's unlock slow), so it never says
/// that an access is blocked. An acquisition that is looked at more closely counts as contended if
/// the word says at that moment that someone is inside: with level `full` and `counts` every one
/// is looked at, with `sampled` one in many, which then counts for those that it stands for. Who
/// enters or leaves between the look and the attempt makes the figure wrong in either direction;
/// it is printed as an estimate.
///
/// *Threads without an index* (more than 4095 at once) share a cell and add atomically; one in
/// exactly `samplingMean` of them is timed. They have one mark for the holder: hand-offs between
/// them and their re-entry are not seen.
@usableFromInline package final class ContentionProbe: EntryObserver {
    /// What the probe remembers of one access: three words, in registers on the uncontended path.
    @usableFromInline package struct Entry: BitwiseCopyable, Sendable {
        @usableFromInline let isWrite: Bool
        /// Whether anything below is used.
        @usableFromInline var isFollowed = false
        var isBlocked = false
        /// How many acquisitions the times stand for; 0 if they are not taken.
        var weight: UInt32 = 0
        var askedAt: UInt64 = 0
        var enteredAt: UInt64 = 0

        @inlinable
        init(isWrite: Bool) {
            self.isWrite = isWrite
        }
    }

    @inlinable package static var isActive: Bool { true }

    @usableFromInline let meter: ContentionMeter
    @usableFromInline let words: PerThreadWords
    @usableFromInline let readersExclude: Bool
    @usableFromInline let runsReadsLater: Bool
    @usableFromInline let runsWritesLater: Bool

    // A cache line's distance on both sides: the word is written at every exclusive entry.
    private let before = InlineArray<8, UInt64>(repeating: 0)
    /// Twice the mark of the thread that entered last, plus 1 while it is inside; 0 before anyone.
    @usableFromInline let holder = Atomic<UInt32>(0)
    private let after = InlineArray<8, UInt64>(repeating: 0)

    @usableFromInline
    package init(_ meter: ContentionMeter) {
        self.meter = meter
        words = meter.words
        readersExclude = !meter.traits.allowsConcurrentReaders
        runsReadsLater = !meter.traits.blocksCaller
        runsWritesLater = meter.traits.appliesWritesAsynchronously
    }

    // The slow halves take and return the entry by value: its address never leaves the fast path,
    // which would have to keep it in memory otherwise.

    @inlinable
    @inline(__always)
    package func asks(_ mode: AccessMode) -> Entry {
        let isWrite = mode == .write
        guard let cell = words.ownCell else { return asksClosely(isWrite) }
        let count = cell[ContentionWords.acquisitions(isWrite)] &+ 1
        guard count < cell[ContentionWords.nextTimed(isWrite)] else { return asksClosely(isWrite) }
        cell[ContentionWords.acquisitions(isWrite)] = count
        return Entry(isWrite: isWrite)
    }

    @inlinable
    package func isBlocked(_ entry: inout Entry) {
        stopIfInside()
        entry = blocked(entry)
    }

    /// As `isBlocked`, for an access that came through a submitting door.
    ///
    /// A strategy that blocks there too waits like anywhere else and is checked.
    @inlinable
    package func isBlockedAsSubmitted(_ entry: inout Entry) {
        if entry.isWrite ? !runsWritesLater : !runsReadsLater {
            stopIfInside()
        }
        entry = blocked(entry)
    }

    @inlinable
    @inline(__always)
    package func enters(_ entry: inout Entry) {
        if entry.isWrite || readersExclude {
            let mark = Self.threadMark
            let last = holder.load(ordering: .relaxed) >> 1
            if last != mark {
                takesOver(from: last)
            }
            holder.store(mark << 1 | 1, ordering: .relaxed)
        }
        if entry.isFollowed {
            entry = entersFollowed(entry)
        }
    }

    @inlinable
    @inline(__always)
    package func leaves(_ entry: Entry) {
        if entry.isFollowed {
            leavesFollowed(entry)
        }
        if entry.isWrite || readersExclude {
            // Its own store of before: nobody else is inside.
            holder.store(holder.load(ordering: .relaxed) & ~1, ordering: .relaxed)
        }
    }

    /// What a thread leaves in the holder's word: its index, or one mark for all without.
    @inlinable static var threadMark: UInt32 {
        let index = latchkey_system_thread_index()
        return index != 0 ? index : UInt32(LATCHKEY_SYSTEM_THREADS_MAX)
    }
}
