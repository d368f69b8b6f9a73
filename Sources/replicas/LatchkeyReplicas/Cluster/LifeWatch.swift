internal import LatchkeyReplication
internal import LatchkeyStore

/// Finds out whether a replica that began with an empty folder joins a log that others continue.
///
/// If it does, no revision of the log was lost, and another life would end all watches for nothing.
/// It does if another live replica serves, and does not have more than this one: that replica
/// joined the log before, or began the life that a restored log needs. The records of replicas that
/// are gone do not change.
struct LifeWatch: Sendable {
    /// A bit more than twice the time between two records of the others.
    static let nanosecondsMax: UInt64 = 12_000_000_000

    enum Verdict: Equatable {
        /// Another replica is alive: no life begins.
        case goesOn
        /// A life must begin.
        case begins
        /// The records must be read again.
        case waits
    }

    private let identity: String
    private let since: UInt64
    /// The time in the first record that was read of each other replica, by that replica's clock.
    private var times: [String: Int64] = [:]

    /// - Parameters:
    ///   - identity: That of this replica.
    ///   - now: The time, of a clock that never goes back.
    init(_ identity: String, at now: UInt64) {
        (self.identity, since) = (identity, now)
    }

    /// Takes the records of all replicas.
    ///
    /// - Parameters:
    ///   - records: The last record of each replica.
    ///   - position: That of this replica, which is up to date as of a time after `records`.
    ///   - now: The time.
    /// - Returns: The verdict.
    mutating func hears(
        _ records: [String: ClusterDirectory.Record],
        _ position: LogPosition,
        at now: UInt64
    ) -> Verdict {
        // A replica that takes a state has none yet.
        let others = records.filter { $0.key != identity && $0.value.state != "seeding" }
        for (identity, record) in others where times[identity] == nil {
            times[identity] = record.time
        }
        let isAlive = others.contains { identity, record in
            record.time != times[identity] && record.state == "serving"
                && record.place <= position.place.number && record.revision <= position.revision
        }
        if isAlive { return .goesOn }
        return others.isEmpty || now > since + Self.nanosecondsMax ? .begins : .waits
    }
}

/// When a replica exchanges records with the others.
///
/// Each 5 s, and each second while a disk is full; at once when its own disk becomes full, or has
/// room again, and when its files have the first entry, since others take a state only from a
/// replica that has one.
struct RecordSchedule: Sendable {
    /// How often, in ticks.
    static let ticks = 100
    static let fullTicks = 20

    private var count = 0
    private var hasPlace = false
    private var wasFull = false

    /// Counts a tick.
    ///
    /// - Parameters:
    ///   - isFull: Whether the own disk is full.
    ///   - isAnyFull: Whether one of the disks is.
    ///   - place: The place that the files have; asked for until there is one, because it costs too
    ///     much for each tick.
    /// - Returns: Whether records must be exchanged now.
    mutating func isDue(
        isFull: Bool = false,
        isAnyFull: Bool = false,
        _ place: () -> LogPlace
    ) -> Bool {
        let isTime = count % (isAnyFull ? Self.fullTicks : Self.ticks) == 0 || isFull != wasFull
        count += 1
        wasFull = isFull
        guard !hasPlace, place() != .start else { return isTime }
        hasPlace = true
        return true
    }
}
