/// The blocking access functions of a value whose strategy is known at run time only.
///
/// **Design.** A strategy that uses a value in its place guards a section of code and does not know
/// the value. So only the entry into the section is a dynamic call; what runs inside is specialised
/// for the value and the body, where it is called. `snapshot` is called as what it is.
public struct BlockingAccess<Value: Sendable>: Sendable {
    @usableFromInline let guarded: GuardedValue<Value>
    @usableFromInline let strategyType: any Strategy.Type

    /// Runs a body inside the section, except under `snapshot`.
    @usableFromInline let section: @Sendable (AccessMode, () -> Void) -> Void
    @usableFromInline let snapshot: SnapshotStrategy?

    /// Nil if the strategy cannot block.
    package init?(_ guarded: GuardedValue<Value>, _ strategy: any Strategy) {
        self.guarded = guarded
        strategyType = type(of: strategy)
        snapshot = strategy as? SnapshotStrategy
        if let strategy = strategy as? any InPlaceStrategy {
            section = strategy.section
        } else if snapshot != nil {
            section = { _, body in body() }
        } else {
            return nil
        }
    }

    /// As ``Synchronized/read(observer:fileID:line:_:)``.
    @inlinable
    public func read<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try checking(.read, CallSite(fileID, line)) { () throws(Failure) -> Result in
            if let snapshot {
                return try snapshot.read(guarded, observer: NoObserver(), body)
            }
            var outcome: Swift.Result<Result, Failure>?
            section(.read) {
                outcome = Swift.Result { () throws(Failure) -> Result in
                    try guarded.read(body)
                }
            }
            return try Self.get(outcome)
        }
    }

    /// As ``Synchronized/write(observer:fileID:line:_:)``.
    @inlinable
    public func write<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try checking(.write, CallSite(fileID, line)) { () throws(Failure) -> Result in
            if let snapshot {
                return try snapshot.write(guarded, observer: NoObserver(), body)
            }
            var outcome: Swift.Result<Result, Failure>?
            section(.write) {
                outcome = Swift.Result { () throws(Failure) -> Result in
                    try guarded.write(body)
                }
            }
            return try Self.get(outcome)
        }
    }

    @inlinable
    static func get<Result, Failure: Error>(
        _ outcome: Swift.Result<Result, Failure>?
    ) throws(Failure) -> Result {
        guard let outcome else {
            preconditionFailure("A strategy did not run the body.")
        }
        return try outcome.get()
    }

    @inlinable
    @inline(__always)
    func checking<Result, Failure: Error>(
        _ access: Reentry.Access,
        _ caller: CallSite,
        _ enter: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        #if DEBUG || LATCHKEY_CHECKED
        return try Reentry.checking(strategyType, guarded, access, caller, enter)
        #else
        return try enter()
        #endif
    }
}
