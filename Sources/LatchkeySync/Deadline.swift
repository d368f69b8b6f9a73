extension ContinuousClock.Instant {
    /// Waits, and again if that took less time by this clock than by the primitive's own: the time
    /// of day can be set, and other clocks stand still while the machine sleeps.
    ///
    /// - Parameter wait: Waits for so long at most. Returns whether what it waits for came.
    /// - Returns: The same, false only after the deadline.
    package func bounding(_ wait: (_ nanoseconds: Int64) -> Bool) -> Bool {
        repeat {
            if wait(nanosecondsLeft) { return true }
        } while .now < self
        return false
    }

    /// The nanoseconds until then, 0 if that is past, at most a day.
    ///
    /// Whoever waits looks again afterwards, so a longer wait is one of several days.
    var nanosecondsLeft: Int64 {
        let left = ContinuousClock.now.duration(to: self).components
        guard left.seconds < 86_400 else { return 86_400_000_000_000 }
        // The fraction has the sign of the seconds.
        return Swift.max(0, left.seconds * 1_000_000_000 + left.attoseconds / 1_000_000_000)
    }
}
