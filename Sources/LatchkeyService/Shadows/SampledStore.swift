internal import LatchkeyStore
internal import LatchkeyStrategies

/// The serving store, whose operations are also sampled: for the shadows, and for a recording.
struct SampledStore<Base: CommittingStore>: CommittingStore {
    let base: Base
    let shadows: Shadows?
    let recorder: TraceRecorder?

    /// Only reads of what is served are sampled: others are parts of reads of the past.
    ///
    /// Always inlined: else the completion of each `GET` is allocated.
    @inline(__always)
    func look(
        _ name: PropertyName,
        in scope: PropertyScope,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        var apply: (() -> Void)?
        if scope == .live {
            recorder?.record(reading: name)
            apply = shadows?.sample {
                let copy = name.copy()
                return { $0.look(copy) }
            }
        }
        try base.look(name, in: scope, observer: observer, completion: completion)
        apply?()
    }

    func commit(
        _ change: Change,
        observer: some EntryObserver,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let record = recorder?.record(change)
        let apply = shadows?.sample {
            let copy = change.unconditionalCopy()
            return { $0.commit(copy) }
        }
        try base.commit(change, observer: observer, receiver: RecordingReceiver(record, receiver))
        apply?()
    }

    func list(
        _ request: PageRequest,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Page) -> Void
    ) {
        recorder?.recordList()
        let apply = shadows?.sample { { $0.list(request) } }
        base.list(request, observer: observer, completion: completion)
        apply?()
    }

    func snapshot(completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(completion: completion)
    }
}

/// Records the decision, where changes are recorded, before the next one receives it.
private struct RecordingReceiver<Next: DecisionReceiver>: DecisionReceiver {
    private let record: (@Sendable (Decision) -> Void)?
    private let next: Next

    init(_ record: (@Sendable (Decision) -> Void)?, _ next: Next) {
        self.record = record
        self.next = next
    }

    func receive(_ decision: Decision) {
        record?(decision)
        next.receive(decision)
    }

    func note(for commit: Commit) -> [UInt8]? {
        next.note(for: commit)
    }
}
