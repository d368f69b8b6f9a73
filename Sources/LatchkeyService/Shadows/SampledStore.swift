internal import LatchkeyStore
internal import LatchkeyStrategies

/// The serving store, whose operations are also sampled: for the shadows, and for a recording.
struct SampledStore<Base: CommittingStore>: CommittingStore {
    let base: Base
    let shadows: Shadows?
    let recorder: TraceRecorder?

    /// Always inlined: else the completion of each `GET` is allocated.
    @inline(__always)
    func look(
        _ name: PropertyName,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        recorder?.record(reading: name)
        let apply = shadows?.sample {
            let copy = name.copy()
            return { $0.look(copy) }
        }
        try base.look(name, observer: observer, completion: completion)
        apply?()
    }

    /// Not sampled: only reads of the past do that.
    func lookStored(
        _ name: PropertyName,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        try base.lookStored(name, observer: observer, completion: completion)
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
        if let record {
            try base.commit(change, observer: observer) { decision in
                record(decision)
                receiver.receive(decision)
            }
        } else {
            try base.commit(change, observer: observer, receiver: receiver)
        }
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
