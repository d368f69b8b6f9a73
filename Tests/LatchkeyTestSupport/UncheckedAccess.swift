public import LatchkeyStrategies

// The access functions without the check for re-entry.

extension BlockingStrategy {
    /// Reads.
    ///
    /// SAFETY: inside.
    public func read<Value, Result>(
        _ guarded: GuardedValue<Value>,
        _ body: (Value) -> Result
    ) -> Result {
        access(AccessRequest(.read), observer: NoObserver()) {
            unsafe reading(guarded) { body($0.value) }
        }
    }

    /// Writes.
    ///
    /// SAFETY: inside.
    public func write<Value, Result>(
        _ guarded: GuardedValue<Value>,
        _ body: (inout Value) -> Result
    ) -> Result {
        access(AccessRequest(.write), observer: NoObserver()) { unsafe writing(guarded, body) }
    }
}
