internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import Synchronization

/// Decides which changes a replica takes, by the room on the disks of all replicas.
///
/// An entry of the log cannot be refused. So a replica whose disk is full executes what it can keep
/// in memory, and then waits; the others go on. While most disks are full, replicas put only
/// changes into the log that only remove. The proposing replica decides that before the change is
/// in the log: so it may depend on time, and on the records that this replica has read.
///
/// **Design.** A timer reports the own disk, and the reader of the records the other disks; the
/// executing thread reports its waits. Any thread asks, for each change and each read: so the
/// answers are separate atomics, and relaxed, because a request that came a moment before is
/// answered in any case.
package final class ClusterDisks: Sendable {
    private struct State: Sendable {
        var watch = FullDiskWatch()
        var others = FullDisks()
        var isOwnFull = false

        var isMajority: Bool { others.isMajority(isOwnFull: isOwnFull) }
    }

    private let state = Guarded(State())
    private let isMajority = Atomic(false)
    /// Whether nothing can be written to the own disk.
    private let isOwnBlocked = Atomic(false)
    /// Whether the thread that executes waits for the own disk.
    private let isWaiting = Atomic(false)
    private let isOld = Atomic(false)

    /// Whether the own disk is full, or nearly so, for the replica's record.
    var isOwnFull: Bool { state.read { $0.isOwnFull } }

    /// Whether one of the disks is known to be full.
    var isAnyFull: Bool { state.read { $0.isOwnFull || $0.others.fullCount > 0 } }

    /// Whether most disks are full: only changes that only remove are taken.
    var isMostFull: Bool { isMajority.load(ordering: .relaxed) }

    /// Whether the state is old because the own disk was full, and missed entries are not executed
    /// yet.
    var isStateOld: Bool { isOld.load(ordering: .relaxed) }

    /// Takes the state of the own disk.
    ///
    /// - Parameters:
    ///   - unavailability: Why it takes no change; nil if it does.
    ///   - isStale: Whether the state was out of date for too long.
    func sees(_ unavailability: Unavailability?, isStale: Bool) {
        state.write { state in
            state.isOwnFull = unavailability?.isOfRoom == true
            isMajority.store(state.isMajority, ordering: .relaxed)
        }
        isOwnBlocked.store(unavailability == .full, ordering: .relaxed)
        isOld.store(isStale && (isStopped || isStateOld), ordering: .relaxed)
    }

    /// Takes the records of all replicas: see ``FullDiskWatch``.
    func hears(
        _ records: [String: ClusterDirectory.Record],
        of identity: String,
        at now: UInt64
    ) {
        state.write { state in
            state.others = state.watch.hears(records, of: identity, at: now)
            isMajority.store(state.isMajority, ordering: .relaxed)
        }
    }

    /// Runs a body that waits while the own disk takes nothing; on the executing thread.
    func waiting(_ body: () -> Void) {
        isWaiting.store(true, ordering: .relaxed)
        body()
        isWaiting.store(false, ordering: .relaxed)
    }

    /// Whether nothing is executed until the own disk has room.
    private var isStopped: Bool {
        isOwnBlocked.load(ordering: .relaxed) && isWaiting.load(ordering: .relaxed)
    }

    /// Whether a change is refused before it is in the log.
    ///
    /// A replica that has stopped would not learn what became of it.
    func refuses(_ change: Change) -> Bool {
        isStopped || isMostFull && !change.onlyRemoves
    }
}

extension Unavailability {
    /// Whether the reason is lack of room, and passes when there is some.
    fileprivate var isOfRoom: Bool {
        switch self {
        case .full, .low: true
        case .failing, .gone, .stopped, .unknown: false
        }
    }
}
