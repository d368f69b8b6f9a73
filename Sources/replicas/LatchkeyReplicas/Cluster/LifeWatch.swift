internal import LatchkeyReplication
internal import LatchkeyStore

/// Finds out whether a replica that began with an empty folder joins a log that goes on.
///
/// If it does, no revision of the log was lost, and another life would end all watches in vain. It
/// does if another replica is alive that serves, and does not have more than this one: such a one
/// has joined the log before, or begun the life that a restored log needs. What etcd has of
/// replicas that are gone does not change.
struct LifeWatch: Sendable {
    /// Twice the time in which the others say something, and a bit more.
    static let nanosecondsMax: UInt64 = 12_000_000_000

    enum Verdict: Equatable {
        /// Another replica is alive: no life begins.
        case goesOn
        /// A life must begin.
        case begins
        /// The others are to be heard again.
        case waits
    }

    private let identity: String
    private let since: UInt64
    /// When each other replica has said something, by its own clock, when it was heard of first.
    private var times: [String: Int64] = [:]

    /// - Parameters:
    ///   - identity: That of this replica.
    ///   - now: The time, of a clock that never goes back.
    init(_ identity: String, at now: UInt64) {
        (self.identity, since) = (identity, now)
    }

    /// Takes what all have said.
    ///
    /// - Parameters:
    ///   - records: What they have said last.
    ///   - position: That of this replica, which is level with a time behind `records`.
    ///   - now: The time.
    /// - Returns: What is to be done.
    mutating func hears(
        _ records: [String: ClusterDirectory.Record],
        _ position: LogPosition,
        at now: UInt64
    ) -> Verdict {
        // One that takes a state has none.
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

/// When a replica says what it is doing, and hears the others: each 5 s, and each second while a
/// disk is full; and at once when its own disk becomes full, or is so no more, and when its files
/// have the first entry, since others take a state only of one that has some.
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
    ///   - place: The place that the files have; asked for until there is one, because it costs
    ///     more than a tick may.
    /// - Returns: Whether something is to be said.
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
