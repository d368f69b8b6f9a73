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
    @usableFromInline let runsSubmittedLater: Bool

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
        runsSubmittedLater =
            meter.traits.appliesWritesAsynchronously || !meter.traits.blocksCaller
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
        if !runsSubmittedLater {
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

extension ContentionProbe {
    /// The first visit of a thread, an acquisition to be timed, or a thread without an index.
    @usableFromInline @inline(never)
    func asksClosely(_ isWrite: Bool) -> Entry {
        let weight =
            if let cell = words.firstVisit() {
                count(isWrite, in: cell)
            } else {
                countShared(isWrite)
            }
        var entry = Entry(isWrite: isWrite)
        guard weight > 0 else { return entry }
        if meter.level != .counts {
            entry.isFollowed = true
            entry.weight = weight
            entry.askedAt = latchkey_system_nanoseconds()
        }
        if !meter.countsContendedExactly, holder.load(ordering: .relaxed) & 1 == 1 {
            entry = blocked(entry)
        }
        return entry
    }

    /// Counts an acquisition and says for how many a timing of it would stand: the ones since the
    /// last that was timed, this one included; 0 if it is not to be looked at.
    private func count(_ isWrite: Bool, in cell: PerThreadWords.Cell) -> UInt32 {
        let count = cell[ContentionWords.acquisitions(isWrite)] &+ 1
        cell[ContentionWords.acquisitions(isWrite)] = count
        guard meter.level != .counts else {
            let isLookedAt = !meter.countsContendedExactly
            cell[ContentionWords.nextTimed(isWrite)] = isLookedAt ? 0 : .max
            return isLookedAt ? 1 : 0
        }
        let mode = ContentionWords.Mode(isWrite)
        let weight = count &- cell[mode.lastTimed]
        cell[mode.lastTimed] = count
        cell[ContentionWords.nextTimed(isWrite)] = count &+ gap(in: cell)
        return UInt32(clamping: weight)
    }

    /// A random number of acquisitions from 1 to twice the mean less 1, every one as likely, so
    /// that a workload with a rhythm is not caught at the same beat each time.
    private func gap(in cell: PerThreadWords.Cell) -> UInt64 {
        let span = 2 * UInt64(meter.samplingMean) - 1
        guard span > 1 else { return 1 }
        // Xorshift, and a seed that differs by thread: good enough to break a rhythm.
        var random = cell[ContentionWords.random]
        if random == 0 {
            random = (UInt64(latchkey_system_thread_index()) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        }
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        cell[ContentionWords.random] = random
        return 1 + (random >> 16) % span
    }

    /// As `count`, for a thread without an index.
    private func countShared(_ isWrite: Bool) -> UInt32 {
        let count = words.sharedCell.add(1, at: ContentionWords.acquisitions(isWrite))
        if meter.level == .counts {
            return meter.countsContendedExactly ? 0 : 1
        }
        let mean = UInt64(meter.samplingMean)
        return count % mean == 0 ? UInt32(mean) : 0
    }

    /// Stops the program if the calling thread is inside already and about to wait for itself.
    @usableFromInline @inline(never)
    func stopIfInside() {
        let mark = Self.threadMark
        guard mark != UInt32(LATCHKEY_SYSTEM_THREADS_MAX),
            holder.load(ordering: .relaxed) == mark << 1 | 1
        else { return }
        // Not precondition: its sentence is not in release builds.
        fatalError(
            """
            A body that is guarded by '\(meter.strategy.rawValue)' entered the same guard again, \
            which would wait for itself for ever. Pass the value down instead.
            """
        )
    }

    /// Notes that the access has to wait.
    @usableFromInline @inline(never)
    func blocked(_ entry: Entry) -> Entry {
        var entry = entry
        entry.isFollowed = true
        entry.isBlocked = true
        if meter.level == .counts {
            entry.weight = 1
            entry.askedAt = latchkey_system_nanoseconds()
        }
        let weight = blockedWeight(entry)
        words.add(weight, at: ContentionWords.Mode(entry.isWrite).contended)
        words.add(weight, at: ContentionWords.waiting)
        return entry
    }

    /// How many contended acquisitions a blocked one stands for.
    private func blockedWeight(_ entry: Entry) -> UInt64 {
        meter.countsContendedExactly ? 1 : UInt64(entry.weight)
    }

    /// Counts a hand-off, unless nobody was inside before.
    @usableFromInline @inline(never)
    func takesOver(from last: UInt32) {
        if last != 0 {
            words.add(1, at: ContentionWords.handOffs)
        }
    }

    @usableFromInline @inline(never)
    func entersFollowed(_ entry: Entry) -> Entry {
        var entry = entry
        if entry.weight > 0 {
            entry.enteredAt = latchkey_system_nanoseconds()
        }
        if entry.isBlocked {
            words.add(0 &- blockedWeight(entry), at: ContentionWords.waiting)
        }
        return entry
    }

    /// Records both times, after the clock was read for the last time, so that recording is in
    /// neither.
    @usableFromInline @inline(never)
    func leavesFollowed(_ entry: Entry) {
        guard entry.weight > 0 else { return }
        let now = meter.level == .counts ? entry.enteredAt : latchkey_system_nanoseconds()
        let mode = ContentionWords.Mode(entry.isWrite)
        record(from: entry.askedAt, to: entry.enteredAt, weight: entry.weight, in: mode.wait)
        if meter.level != .counts {
            record(from: entry.enteredAt, to: now, weight: entry.weight, in: mode.hold)
        }
    }

    private func record(
        from start: UInt64,
        to end: UInt64,
        weight: UInt32,
        in durations: ContentionWords.Durations
    ) {
        let nanoseconds = end > start ? end - start : 0
        let weight = UInt64(weight)
        let window = ContentionMeter.window(end)
        let max = PeriodMax.pack(period: meter.resetCount, nanoseconds: nanoseconds)
        let windowMax = PeriodMax.pack(period: window, nanoseconds: nanoseconds)
        words.add(1, at: durations.timed)
        words.add(nanoseconds &* weight, at: durations.sum)
        words.add(weight, at: durations.bucket(DurationBuckets.index(nanoseconds)))
        words.raise(to: max, at: durations.maxSinceReset)
        words.raise(to: windowMax, at: durations.maxInWindow(window))
    }
}
