extension Duration {
    /// Rounded up; 0 if it is negative, and at most 285 years.
    package var wholeNanoseconds: Int { whole(perSecond: 1_000_000_000) }

    /// Rounded up; 0 if it is negative, and at most 285 years.
    package var wholeMilliseconds: Int { whole(perSecond: 1000) }

    private func whole(perSecond count: Int) -> Int {
        guard self > .zero else { return 0 }
        let (seconds, attoseconds) = components
        let unit = 1_000_000_000_000_000_000 / Int64(count)
        // Nanoseconds of more seconds would not fit.
        return Int(min(seconds, 9_000_000_000)) * count + Int((attoseconds + unit - 1) / unit)
    }
}
