internal import Dispatch
public import LatchkeySync

extension PropertyStore {
    /// Calls `proceed`, after the properties are passed that a pop would find claimed.
    ///
    /// Some are passed at a time, and others enter the stripes in between.
    ///
    /// - Throws: ``BacklogFull``. Once this has returned, it is tried again and again: a replica
    ///   must decide each change that it has begun.
    @usableFromInline
    func passClaims(
        _ prepared: PreparedTransaction,
        _ pops: ClaimPops,
        then proceed: @escaping @Sendable () throws(BacklogFull) -> Void
    ) throws(BacklogFull) {
        guard context.mustPassClaims(for: pops) else {
            return try proceed()
        }
        // A write, though it changes no table: readers can enter beside one that does.
        try submitWrite(
            prepared.tables,
            observer: NoObserver(),
            { $0.passClaims(prepared, pops) },
            completion: { [self] isPassed in
                guard !isPassed else {
                    return Self.untilAccepted(proceed)
                }
                // Elsewhere: a thread that serves passes no more than this.
                DispatchQueue.global().async { [self] in
                    Self.untilAccepted { [self] () throws(BacklogFull) in
                        try passClaims(prepared, pops, then: proceed)
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
