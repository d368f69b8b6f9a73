import LatchkeyMetrics
public import LatchkeySync
import Synchronization

// The part of a probe that records for a profile, out of line: for contended accesses that are
// recorded, and for the threads that keep them waiting. ``ProfileWaits`` describes the design.

extension ContentionProbe {
    /// Begins the record of a wait, if this is one of those that are recorded.
    func profiles(_ isWrite: Bool, _ timing: Timing, at site: CallSite) -> Timing {
        guard let profile = meter.profile, isRecorded(by: profile) else { return timing }
        var timing = timing
        let pair = ProfileWaits.Pair(
            lock: meter.profiledLock,
            mode: isWrite ? .write : .read,
            waiter: ProfileSample.Place(at: site, depthMax: ProfileWaits.waiterDepthMax)
        )
        let weight = blockedWeight(timing) &* UInt64(profile.interval)
        let slot = profile.waits.begin(pair, probe: identity, weight: weight)
        if let slot {
            timing.profiledWait = slot
            watch.bitwiseOr(1 << UInt64(slot), ordering: .relaxed)
        }
        return timing
    }

    /// Whether the thread's contended access is one of those that are recorded.
    private func isRecorded(by profile: ContentionProfile) -> Bool {
        guard let cell = words.ownCell else {
            // A thread without an index.
            profile.waits.lose(1)
            return false
        }
        var left = cell[MeterLayout.untilProfiled]
        if left == 0 {
            left = Self.gap(mean: profile.interval, in: cell)
        }
        let isRecorded = left == 1
        cell[MeterLayout.untilProfiled] =
            isRecorded ? Self.gap(mean: profile.interval, in: cell) : left - 1
        return isRecorded
    }

    /// Ends the record of a wait.
    func endProfiling(_ timing: Timing) {
        guard let profile = meter.profile, let slot = timing.profiledWait else { return }
        watch.bitwiseAnd(~(1 << UInt64(slot)), ordering: .relaxed)
        profile.waits.end(slot)
    }

    /// Lets the recorded waits at this guard blame the calling thread, which leaves it.
    @usableFromInline @inline(never) func leavesWatched(_ isWrite: Bool, _ site: CallSite) {
        // Readers that never keep a writer out are not to blame.
        guard let profile = meter.profile, isWrite || !meter.traits.readsDuringWrites else {
            return
        }
        let satisfied = profile.waits.blame(
            watch.load(ordering: .relaxed),
            probe: identity,
            sharesWithReaders: !isWrite && !readersExclude,
            at: site
        )
        if satisfied != 0 {
            // A new wait that has got one of the slots meanwhile is not looked at: a rare loss.
            watch.bitwiseAnd(~satisfied, ordering: .relaxed)
        }
    }

    private var identity: UInt64 { UInt64(UInt(bitPattern: ObjectIdentifier(self))) }
}
