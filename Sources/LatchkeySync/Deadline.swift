extension ContinuousClock.Instant {
    /// The nanoseconds until then, 0 if that is past, at most a day.
    ///
    /// Whoever waits looks again afterwards, so a longer wait is one of several days.
    package var nanosecondsLeft: Int64 {
        let left = ContinuousClock.now.duration(to: self).components
        guard left.seconds < 86_400 else {
            return 86_400_000_000_000
        }
        // The fraction has the sign of the seconds.
        return Swift.max(0, left.seconds * 1_000_000_000 + left.attoseconds / 1_000_000_000)
    }
}
