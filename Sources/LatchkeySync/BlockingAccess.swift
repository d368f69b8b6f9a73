/// The blocking access functions of a value whose strategy is known at run time only.
///
/// **Design.** A strategy guards a section of code and does not know the value. So only the entry
/// into the section is a dynamic call; what runs inside is specialised for the value and the body,
/// where it is called. Only where the value is not in its place is it lent by a dynamic call, too.
public struct BlockingAccess<Value: Sendable>: Sendable {
    @usableFromInline let guarded: GuardedValue<Value>
    @usableFromInline let strategy: any BlockingStrategy
    @usableFromInline let isInPlace: Bool

    /// Runs a body inside the section.
    @usableFromInline let section: @Sendable (AccessRequest, () -> Void) -> Void

    /// Nil if the strategy cannot block.
    package init?(_ guarded: GuardedValue<Value>, _ strategy: any Strategy) {
        guard let strategy = strategy as? any BlockingStrategy else {
            return nil
        }
        self.guarded = guarded
        self.strategy = strategy
        isInPlace = strategy is any InPlaceStrategy
        section = Self.section(strategy)
    }

    private static func section(
        _ strategy: some BlockingStrategy
    ) -> @Sendable (AccessRequest, () -> Void) -> Void {
        { request, body in strategy.access(request, observer: NoObserver(), body) }
    }

    /// As ``Synchronized/read(fileID:line:_:)``.
    @inlinable
    public func read<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try access(AccessRequest(.read, at: CallSite(fileID, line)), "read") {
            () throws(Failure) -> Result in
            try isInPlace ? unsafe guarded.read(body) : strategy.reading(guarded, body)
        }
    }

    /// As ``Synchronized/write(fileID:line:_:)``.
    @inlinable
    public func write<Result, Failure: Error>(
        fileID: StaticString = #fileID,
        line: UInt = #line,
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try access(AccessRequest(.write, at: CallSite(fileID, line)), "write") {
            () throws(Failure) -> Result in
            try isInPlace ? unsafe guarded.write(body) : strategy.writing(guarded, body)
        }
    }

    @inlinable
    @inline(__always)
    func access<Result, Failure: Error>(
        _ request: AccessRequest,
        _ name: StaticString,
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try Reentry.checking(type(of: strategy), guarded, request, name) {
            () throws(Failure) -> Result in
            var outcome: Swift.Result<Result, Failure>?
            section(request) {
                outcome = Swift.Result { () throws(Failure) -> Result in try body() }
            }
            guard let outcome else {
                preconditionFailure("A strategy did not run the body.")
            }
            return try outcome.get()
        }
    }
}
