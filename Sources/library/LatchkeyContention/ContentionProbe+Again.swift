import LatchkeyMetrics
package import LatchkeySync

// An access that asks one guard and takes place at another one, because the guard was switched
// meanwhile: out of line, since a switch is rare.

extension ContentionProbe {
    /// Withdraws an access that has asked here, perhaps has waited, and has not entered.
    ///
    /// The row is as if it had never asked: it asks another guard, by ``asksAgain(_:after:)``, or
    /// is refused there. Only a profile keeps its wait, which was for a holder of this guard.
    @inline(never) package func beginsAgain(_ entry: MeteredEntry) {
        let (mode, timing) = (MeterLayout.Mode(entry.isWrite), entry.timing)
        words.add(1, at: mode.withdrawn)
        // The next sample stands for those that this one stood for, and not for this one.
        words.add(1 &- UInt64(timing.weight), at: mode.lastTimed)
        guard timing.isBlocked else { return }
        let weight = blockedWeight(timing)
        words.add(0 &- weight, at: mode.contended)
        words.add(0 &- weight, at: MeterLayout.waiting)
        endProfiling(timing)
    }

    /// Counts an access that asked another guard before, and was withdrawn there.
    ///
    /// It is one acquisition, of this guard. If it has waited, it is contended here. If it was
    /// timed or has waited, it is timed here, from its first ask if that time was read.
    @inline(never) package func asksAgain(
        _ request: AccessRequest,
        after earlier: MeteredEntry
    ) -> MeteredEntry {
        var entry = asks(request)
        guard earlier.timing.isNeeded else { return entry }
        if entry.timing.weight == 0, meter.level != .counts {
            entry.timing = standsForItself(entry.isWrite, entry.timing)
        }
        if earlier.timing.isBlocked, !entry.timing.isBlocked {
            entry.timing = countsAsBlocked(entry.isWrite, entry.timing)
        }
        if earlier.timing.time != 0 {
            entry.timing.time = earlier.timing.time
        }
        return entry
    }
}
