internal import LatchkeyReplication

/// How many of the other replicas take part, and how many of these report a full disk.
struct FullDisks: Equatable, Sendable {
    /// How many others take part.
    var count = 0
    var fullCount = 0

    /// Whether the disks of more than half of all replicas are full, this one included.
    func isMajority(isOwnFull: Bool) -> Bool {
        2 * (fullCount + (isOwnFull ? 1 : 0)) > count + 1
    }
}

/// Finds out how many of the other replicas have full disks, from their records.
///
/// The last record of a replica stays when the replica is gone, with a time of that replica's
/// clock. So a replica takes part as long as its record changes now and then, by this replica's
/// clock; and its full disk counts only once the record has changed since it was first read. A
/// replica that is gone, whose folder was emptied, or that does not use the log any more, does not
/// count, whatever its record says.
struct FullDiskWatch: Sendable {
    /// A bit more than twice the time between two records of a replica.
    static let silenceNanoseconds = LifeWatch.nanosecondsMax

    private struct Heard: Sendable {
        var time: Int64
        /// When this record was first read.
        var last: UInt64
        /// Whether the record has changed since the first one that was read.
        var isAlive = false
    }

    private var heard: [String: Heard] = [:]

    /// Takes the records of all replicas.
    ///
    /// - Parameters:
    ///   - records: The last record of each replica.
    ///   - identity: That of this replica, whose own record does not count.
    ///   - now: The time, of a clock that never goes back.
    /// - Returns: The counts of the others now.
    mutating func hears(
        _ records: [String: ClusterDirectory.Record],
        of identity: String,
        at now: UInt64
    ) -> FullDisks {
        var (disks, known) = (FullDisks(), [String: Heard]())
        for (other, record) in records where other != identity && record.needsLog != false {
            var heard = heard[other] ?? Heard(time: record.time, last: now)
            if heard.time != record.time {
                heard = Heard(time: record.time, last: now, isAlive: true)
            }
            known[other] = heard
            guard now <= heard.last + Self.silenceNanoseconds else { continue }
            disks.count += 1
            if heard.isAlive, record.isFull == true { disks.fullCount += 1 }
        }
        heard = known
        return disks
    }
}
