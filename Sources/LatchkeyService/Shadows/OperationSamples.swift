internal import LatchkeyStore

/// The samples of the serving store's operations: for the shadows, and for a recording.
///
/// Taken before the operation, whose bytes are gone afterwards. What is returned is called behind
/// it, and applies the sample to the shadows.
struct OperationSamples: Sendable {
    var shadows: Shadows?
    var recorder: TraceRecorder?

    func take(reading name: PropertyName) -> (() -> Void)? {
        recorder?.record(reading: name)
        return shadows?.sample {
            let copy = name.copy()
            return { $0.look(copy) }
        }
    }

    /// Also returns what records the decision, where it says what was made: of a transaction with
    /// conditions.
    func take(
        _ change: Change
    ) -> (record: (@Sendable (Decision) -> Void)?, apply: (() -> Void)?) {
        let record = recorder?.record(change)
        let apply = shadows?.sample {
            let copy = change.unconditionalCopy()
            return { $0.commit(copy) }
        }
        return (record, apply)
    }

    func takeList(_ request: PageRequest) -> (() -> Void)? {
        recorder?.recordList()
        return shadows?.sample { { $0.list(request) } }
    }
}
