internal import Dispatch
public import LatchkeySync

extension PropertyStore {
    /// Submits a transaction whose pops may have to pass more names than at a time.
    ///
    /// Then it is decided once more, and others enter the stripes in between.
    ///
    /// - Throws: ``BacklogFull``. Once this has returned, it is tried again and again: a replica
    ///   must decide each change that it has begun.
    @usableFromInline
    func submitPassing<Answer: Sendable>(
        _ prepared: PreparedTransaction,
        observer: some EntryObserver,
        _ body: @escaping @Sendable (inout [PropertyTable]) -> Answer?,
        completion: @escaping @Sendable (Answer) -> Void
    ) throws(BacklogFull) {
        try submitWrite(
            prepared.tables,
            observer: observer,
            body,
            completion: { [self] answer in
                if let answer {
                    return completion(answer)
                }
                // Elsewhere: a thread that serves passes no more than this.
                DispatchQueue.global().async { [self] in
                    Self.untilAccepted { [self] () throws(BacklogFull) in
                        try submitPassing(
                            prepared,
                            observer: NoObserver(),
                            body,
                            completion: completion
                        )
                    }
                }
            }
        )
    }

    private static func untilAccepted(
        _ submit: @escaping @Sendable () throws(BacklogFull) -> Void
    ) {
        do throws(BacklogFull) {
            try submit()
        } catch {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {
                untilAccepted(submit)
            }
        }
    }
}
