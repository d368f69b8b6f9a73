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
/// *Which thread writes.* Each call writes to the cell of the thread that makes it. Under an
/// asynchronous strategy, an access asks on one thread and enters on another. So every cell has one
/// writer, and only sums over threads mean something.
///
/// *The holder.* The guard's word has the thread that entered exclusively last, and whether it is
/// still inside. It is stored after entering and before leaving, thus by one thread at a time;
/// readers that can be inside together leave it alone, because storing it would make them contend.
/// Relaxed is enough: the thread inside is alone and ordered by the strategy. For a thread outside,
/// the word is a guess that may be out of date, with one exact exception. A thread that finds
/// *itself* inside is inside: it reads nothing older than its own last store, and its last store
/// before it left said that it left.
///
/// *Re-entry.* So a thread that is blocked and finds itself inside waits for itself. It stops with
/// a message instead, in release builds too. A body that is submitted to run later may be submitted
/// from inside and is not checked. A thread that holds shared access and asks for exclusive access
/// is not found.
///
/// *Locks that are not tried* (``StrategyTraits/tellsOfWaiting``). `mutex` must not be tried (a
/// failed try makes the holder's unlock slow), so it never says that an access is blocked. An
/// acquisition that is looked at more closely counts as contended if the word says at that moment
/// that someone is inside: with level `full` and `counts` every one is looked at, with `sampled`
/// one in many, which then counts for those that it stands for. A thread that enters or leaves
/// between the look and the attempt makes the figure wrong in either direction; it is printed as an
/// estimate.
///
/// *The profile.* An access that waits and is recorded by a ``ContentionProfile`` has a bit in
/// `watch` meanwhile, and a thread that leaves looks at that word. It is in a line that is written
/// for recorded waits only, so that readers that share the guard do not contend for it. Relaxed is
/// enough: the slot that the bit leads to has an order of its own.
///
/// *Threads without an index* (more than 4095 at once) share a cell and add atomically; one in
/// exactly `samplingMean` of them is timed. They have one mark for the holder: hand-offs between
/// them and their re-entry are not seen.
public final class ContentionProbe: EntryObserver {
    /// The probe's memory of one access.
    ///
    /// On the uncontended path that is nothing: the request is constants there, and the rest is two
    /// zeros in registers.
    public struct MeteredEntry: BitwiseCopyable, Sendable {
        @usableFromInline let request: AccessRequest
        @usableFromInline var timing: Timing

        @inlinable init(_ request: AccessRequest, _ timing: Timing = Timing()) {
            self.request = request
            self.timing = timing
        }

        @inlinable var isWrite: Bool { request.mode == .write }
    }

    /// The times of an access that is timed or blocked.
    @usableFromInline struct Timing: BitwiseCopyable, Sendable {
        /// When it asked and then, once it is inside, when it entered.
        @usableFromInline var time: UInt64
        /// Bit 0 if it was blocked, then 30 bits for the number of acquisitions that the times
        /// stand for, then a bit if the wait was timed for itself, then one more than the slot of
        /// a wait that is profiled.
        @usableFromInline var bits: UInt64

        @inlinable init() {
            time = 0
            bits = 0
        }

        /// False on the uncontended path.
        @inlinable var isNeeded: Bool { bits != 0 }

        /// The number of acquisitions that the times stand for; 0 if they are not taken.
        var weight: UInt32 {
            get { UInt32(truncatingIfNeeded: bits) >> 1 & Self.weightMax }
            set { bits = bits & ~UInt64(Self.weightMax << 1) | UInt64(newValue << 1) }
        }

        static let weightMax: UInt32 = 1 << 30 - 1

        /// Whether the wait counts as one wait, whatever `weight` is.
        var isWaitTimed: Bool {
            get { bits & 1 << 31 != 0 }
            set { bits = bits & ~(1 << 31) | (newValue ? 1 << 31 : 0) }
        }

        var isBlocked: Bool {
            get { bits & 1 == 1 }
            set { bits = bits & ~1 | (newValue ? 1 : 0) }
        }

        /// The slot of the wait, if it is profiled.
        var profiledWait: Int? {
            get { bits >> 32 == 0 ? nil : Int(bits >> 32) - 1 }
            set { bits = bits & 0xFFFF_FFFF | UInt64((newValue ?? -1) + 1) << 32 }
        }
    }

    /// True: contention is counted.
    @inlinable public static var isActive: Bool { true }

    @usableFromInline let meter: ContentionMeter
    @usableFromInline let words: PerThreadCounters
    /// The words' own, one step nearer.
    @usableFromInline let table: PerThreadCounters.Table
    @usableFromInline let readersExclude: Bool
    @usableFromInline let runsReadsLater: Bool
    @usableFromInline let runsWritesLater: Bool
    /// The guard's own sum of waits, where it is one of several stripes.
    let stripe: StripeWait?
    /// A bit for each wait at this guard that is profiled.
    @usableFromInline let watch = Atomic<UInt64>(0)

    // A cache line's distance on both sides: the word is written at every exclusive entry.
    private let before = CacheLine()
    /// Twice the mark of the thread that entered last, plus 1 while it is inside; 0 before anyone.
    @usableFromInline let holder = Atomic<UInt32>(0)
    private let after = CacheLine()

    /// A probe for one guard, whose traits are those of its strategy.
    @usableFromInline
    package init(_ meter: ContentionMeter, traits: StrategyTraits, stripe: StripeWait? = nil) {
        self.meter = meter
        self.stripe = stripe
        words = meter.words
        table = meter.words.table
        readersExclude = !traits.allowsConcurrentReaders
        runsReadsLater = !traits.blocksCaller
        runsWritesLater = traits.appliesWritesAsynchronously
    }

    // The slow halves take and return what they need by value: its address never leaves the fast
    // path, which would have to keep it in memory otherwise.

    /// Counts the access, and notes the time if it is one of those that are timed.
    @inlinable @inline(__always) public func asks(_ request: AccessRequest) -> MeteredEntry {
        let isWrite = request.mode == .write
        if let cell = table.ownCell {
            let count = cell[MeterLayout.acquisitions(isWrite)] &+ 1
            if count < cell[MeterLayout.nextTimed(isWrite)] {
                cell[MeterLayout.acquisitions(isWrite)] = count
                return MeteredEntry(request)
            }
        }
        return MeteredEntry(request, asksTimed(isWrite, request.site))
    }

    /// Counts the access as contended.
    ///
    /// One that was submitted, and runs later, may have been submitted from inside.
    @inlinable public func isBlocked(_ entry: inout MeteredEntry) {
        let runsLater = entry.isWrite ? runsWritesLater : runsReadsLater
        if !(entry.request.isSubmitted && runsLater) {
            stopIfInside()
        }
        entry.timing = blocked(entry.isWrite, entry.timing, entry.request.site)
    }

    /// Ends the wait.
    @inlinable @inline(__always) public func enters(_ entry: inout MeteredEntry) {
        if entry.isWrite || readersExclude {
            let mark = Self.threadMark
            let last = holder.load(ordering: .relaxed) >> 1
            if last != mark {
                takesOver(from: last)
            }
            holder.store(mark << 1 | 1, ordering: .relaxed)
        }
        if entry.timing.isNeeded {
            entry.timing = entersTimed(entry.isWrite, entry.timing)
        }
    }

    /// Ends the hold.
    @inlinable @inline(__always) public func leaves(_ entry: MeteredEntry) {
        if entry.timing.isNeeded {
            leavesTimed(entry.isWrite, entry.timing)
        }
        if watch.load(ordering: .relaxed) != 0 {
            leavesWatched(entry.isWrite, entry.request.site)
        }
        if entry.isWrite || readersExclude {
            // Its own earlier store: no other thread is inside.
            holder.store(holder.load(ordering: .relaxed) & ~1, ordering: .relaxed)
        }
    }

    /// The mark of a thread in the holder's word: its index plus 1; for all threads without an
    /// index, 1.
    @inlinable static var threadMark: UInt32 { latchkey_system_thread_index() &+ 1 }
}

/// Eight words that are never used, for their size.
private struct CacheLine {
    private let words: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
        (0, 0, 0, 0, 0, 0, 0, 0)
}
