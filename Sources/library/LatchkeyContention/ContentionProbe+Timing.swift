import CLatchkeySystem
import LatchkeyMetrics
public import LatchkeySync
import Synchronization

// The slow paths of a probe, out of line: for accesses that are timed or blocked. `ContentionProbe`
// describes the design.

extension ContentionProbe {
    /// A timed entry that took longer has waited, even if no thread was inside when it asked.
    ///
    /// For `mutex` only: where the kernel hands the lock to a thread that still has to wake up,
    /// no thread is inside meanwhile. Many times what an uncontended entry takes.
    static let unmistakableWaitNanoseconds: UInt64 = 2_000

    /// The first contended accesses of a thread, up to this number, are all timed.
    ///
    /// So the samples do not miss a lock that causes rare but long waits.
    ///
    /// After these, samples are scaled up: reading the clock inside for each would make a short
    /// section longer.
    static let timedWaitsMin: UInt64 = 64

    /// The first visit of a thread, an acquisition to be timed, or a thread without an index.
    @usableFromInline @inline(never) func asksTimed(_ isWrite: Bool, _ site: CallSite) -> Timing {
        if meter.profile != nil {
            latchkey_system_stack_prepare()
        }
        let weight =
            if let cell = words.firstVisit() {
                count(isWrite, in: cell)
            } else {
                countShared(isWrite)
            }
        var timing = Timing()
        guard weight > 0 else { return timing }
        if meter.level != .counts {
            timing.weight = weight
            timing.time = latchkey_system_nanoseconds()
        }
        if !meter.countsContendedExactly, holder.load(ordering: .relaxed) & 1 == 1 {
            timing = blocked(isWrite, timing, site)
        }
        return timing
    }

    /// Counts an acquisition, and returns the number of acquisitions that a timing of it stands
    /// for: those since the last timed one, including this one.
    ///
    /// 0 if it is not timed.
    private func count(_ isWrite: Bool, in cell: PerThreadCounters.ThreadCell) -> UInt32 {
        let count = cell[MeterLayout.acquisitions(isWrite)] &+ 1
        cell[MeterLayout.acquisitions(isWrite)] = count
        guard meter.level != .counts else {
            let isLookedAt = !meter.countsContendedExactly
            cell[MeterLayout.nextTimed(isWrite)] = isLookedAt ? 0 : .max
            return isLookedAt ? 1 : 0
        }
        let mode = MeterLayout.Mode(isWrite)
        let weight = count &- cell[mode.lastTimed]
        cell[mode.lastTimed] = count
        cell[MeterLayout.nextTimed(isWrite)] = count &+ Self.gap(mean: meter.samplingMean, in: cell)
        return UInt32(min(weight, UInt64(Timing.weightMax)))
    }

    /// A random number of acquisitions from 1 to twice the mean less 1, uniform, so that it cannot
    /// follow a rhythm of the workload.
    static func gap(mean: Int, in cell: PerThreadCounters.ThreadCell) -> UInt64 {
        let span = 2 * UInt64(mean) - 1
        guard span > 1 else { return 1 }
        // Xorshift, and a seed that differs by thread: good enough to break a rhythm.
        var random = cell[MeterLayout.random]
        if random == 0 {
            random = (UInt64(latchkey_system_thread_index()) &+ 1) &* 0x9E37_79B9_7F4A_7C15
        }
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        cell[MeterLayout.random] = random
        return 1 + (random >> 16) % span
    }

    /// As `count`, for a thread without an index.
    private func countShared(_ isWrite: Bool) -> UInt32 {
        let count = words.sharedCell.add(1, at: MeterLayout.acquisitions(isWrite))
        if meter.level == .counts { return meter.countsContendedExactly ? 0 : 1 }
        let mean = UInt64(meter.samplingMean)
        return count % mean == 0 ? UInt32(mean) : 0
    }

    /// Stops the program if the calling thread is inside already and about to wait for itself.
    @usableFromInline @inline(never) func stopIfInside() {
        let mark = Self.threadMark
        guard mark != 1, holder.load(ordering: .relaxed) == mark << 1 | 1 else { return }
        // Not precondition: release builds do not print its message.
        fatalError(
            """
            A body that is guarded by '\(meter.strategy)' entered the same lock again, \
            which would wait for itself without end. Pass the value down instead.
            """
        )
    }

    /// Notes that the access has to wait.
    ///
    /// One that has asked another guard before can be counted as blocked already.
    @usableFromInline @inline(never)
    func blocked(_ isWrite: Bool, _ timing: Timing, _ site: CallSite) -> Timing {
        let timing = timing.isBlocked ? timing : countsAsBlocked(isWrite, timing)
        return meter.profile == nil ? timing : profiles(isWrite, timing, at: site)
    }

    /// Counts the access as contended and as a waiter.
    func countsAsBlocked(_ isWrite: Bool, _ timing: Timing) -> Timing {
        var timing = timing
        timing.isBlocked = true
        if meter.level == .counts {
            timing.weight = 1
            timing.time = latchkey_system_nanoseconds()
        } else if meter.countsContendedExactly, isAmongFirstWaits(isWrite) {
            timing.isWaitTimed = true
            if timing.weight == 0 { timing.time = latchkey_system_nanoseconds() }
        }
        let weight = blockedWeight(timing)
        words.add(weight, at: MeterLayout.Mode(isWrite).contended)
        words.add(weight, at: MeterLayout.waiting)
        return timing
    }

    /// Times an access that is not one of the samples: it stands for itself, and the next sample
    /// for the others.
    func standsForItself(_ isWrite: Bool, _ timing: Timing) -> Timing {
        var timing = timing
        words.add(1, at: MeterLayout.Mode(isWrite).lastTimed)
        timing.weight = 1
        if timing.time == 0 { timing.time = latchkey_system_nanoseconds() }
        return timing
    }

    private func isAmongFirstWaits(_ isWrite: Bool) -> Bool {
        guard let cell = words.firstVisit() else { return false }
        return cell[MeterLayout.Mode(isWrite).contended] < Self.timedWaitsMin
    }

    /// Ends the wait of an access that does not take place.
    ///
    /// It stays counted as asked for and contended, and no histogram has it.
    public func givesUp(_ entry: MeteredEntry) {
        if entry.timing.isBlocked {
            words.add(0 &- blockedWeight(entry.timing), at: MeterLayout.waiting)
            endProfiling(entry.timing)
        }
    }

    /// The number of contended acquisitions that a blocked one stands for.
    func blockedWeight(_ timing: Timing) -> UInt64 {
        meter.countsContendedExactly ? 1 : UInt64(timing.weight)
    }

    /// Counts a hand-off, unless no thread was inside before.
    @usableFromInline @inline(never) func takesOver(from last: UInt32) {
        if last != 0 {
            words.add(1, at: MeterLayout.handOffs)
        }
    }

    @usableFromInline @inline(never) func entersTimed(_ isWrite: Bool, _ timing: Timing) -> Timing {
        var timing = timing
        let isTimed = timing.weight > 0 || timing.isWaitTimed
        let now = isTimed ? latchkey_system_nanoseconds() : 0
        if timing.isBlocked {
            if isTimed { waited(isWrite, timing, until: now) }
            words.add(0 &- blockedWeight(timing), at: MeterLayout.waiting)
            endProfiling(timing)
        }
        if timing.weight > 0 {
            if !meter.countsContendedExactly, !timing.isBlocked,
                now &- timing.time > Self.unmistakableWaitNanoseconds
            {
                words.add(UInt64(timing.weight), at: MeterLayout.Mode(isWrite).contended)
                waited(isWrite, timing, until: now)
            }
            let durations = MeterLayout.Mode(isWrite).wait
            record(from: timing.time, to: now, weight: timing.weight, in: durations)
            // Looked at again, so that the recording is in neither time.
            timing.time = meter.level == .counts ? 0 : latchkey_system_nanoseconds()
        }
        return timing
    }

    private func waited(_ isWrite: Bool, _ timing: Timing, until now: UInt64) {
        let nanoseconds = now > timing.time ? now - timing.time : 0
        let weight = timing.isWaitTimed ? 1 : UInt64(timing.weight)
        words.add(nanoseconds &* weight, at: MeterLayout.Mode(isWrite).waited)
        stripe?.add(nanoseconds &* weight)
    }

    @usableFromInline @inline(never) func leavesTimed(_ isWrite: Bool, _ timing: Timing) {
        guard timing.weight > 0, meter.level != .counts else { return }
        let now = latchkey_system_nanoseconds()
        let durations = MeterLayout.Mode(isWrite).hold
        record(from: timing.time, to: now, weight: timing.weight, in: durations)
    }

    /// Puts a time into its histogram and raises the maxima.
    func record(
        from start: UInt64,
        to end: UInt64,
        weight: UInt32,
        in durations: MeterLayout.HistogramWords
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
