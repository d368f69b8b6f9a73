extension ContinuousClock.Instant {
    /// Waits, and again if that took less time by this clock than by the primitive's own: the time
    /// of day can be set, and other clocks stand still while the machine sleeps.
    ///
    /// - Parameter wait: Waits for this long at most. Returns whether the event came.
    /// - Returns: The same, false only after the deadline.
    package func bounding(_ wait: (_ nanoseconds: Int64) -> Bool) -> Bool {
        repeat {
            if wait(nanosecondsLeft) { return true }
        } while .now < self
        return false
    }

    /// The nanoseconds until then, 0 if that is past, at most a day.
    ///
    /// The caller looks again afterwards, so that a wait can take several days. Instants and
    /// durations are compared, because a difference of instants that are far apart has more
    /// nanoseconds, and even seconds, than a word.
    var nanosecondsLeft: Int64 {
        let now = ContinuousClock.now
        guard now < self else { return 0 }
        let left = min(now.duration(to: self), .seconds(86_400)).components
        return left.seconds * 1_000_000_000 + left.attoseconds / 1_000_000_000
    }
}
