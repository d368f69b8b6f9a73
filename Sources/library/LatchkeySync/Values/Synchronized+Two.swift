extension Synchronized where Value: Sendable, ChosenStrategy: InPlaceStrategy {
    /// Runs `body` with exclusive access to this value and another one.
    ///
    /// ```swift
    /// let payer = Guarded<Int>(100)
    /// let payee = Guarded<Int>(0)
    /// payer.write(with: payee) { payer, payee in
    ///     payer -= 10
    ///     payee += 10
    /// }
    /// ```
    ///
    /// Enters the two in the order of their addresses, so that threads that name them in different
    /// orders do not wait for each other. Blocks until it has both. Stripes of one ``Striped`` have
    /// an order of their own: use ``Striped/write(keys:fileID:line:_:)`` for them. The other value
    /// must not be the same one, nor share this one's strategy: otherwise the call waits for
    /// itself. If the body throws, its changes to the values stay.
    @inlinable
    public func write<Other: Sendable, OtherStrategy: InPlaceStrategy, Result, Failure: Error>(
        with other: Synchronized<Other, OtherStrategy>,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value, inout Other) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (own, others) = (ObjectIdentifier(guarded), ObjectIdentifier(other.guarded))
        precondition(own != others, "Two values are entered together, not one twice.")
        let site = CallSite(fileID, line)
        if own < others {
            return try write(site, "write(with:)") { value throws(Failure) -> Result in
                try other.write(site, "write(with:)") { other throws(Failure) -> Result in
                    try body(&value, &other)
                }
            }
        }
        return try other.write(site, "write(with:)") { other throws(Failure) -> Result in
            try write(site, "write(with:)") { value throws(Failure) -> Result in
                try body(&value, &other)
            }
        }
    }
}
