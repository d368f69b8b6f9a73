internal import LatchkeyReplication

/// How many of the other replicas that take part say that their disks are full.
struct FullDisks: Equatable, Sendable {
    /// How many others take part.
    var count = 0
    var fullCount = 0

    /// Whether the disks of more than half of all are full, this replica among them.
    func isMajority(isOwnFull: Bool) -> Bool {
        2 * (fullCount + (isOwnFull ? 1 : 0)) > count + 1
    }
}

/// Finds out how many of the other replicas have full disks, by what all say of themselves.
///
/// What a replica has said last stays when it is gone, with its time, of a clock that is not this
/// one. So a replica takes part as long as it says something now and then, by this replica's clock;
/// and that its disk is full is believed only once it has said something more than what was heard
/// first. One that is gone, whose folder was emptied, or that does not use the log any more, does
/// not count, whatever it has said.
struct FullDiskWatch: Sendable {
    /// Twice the time in which a replica says something, and a bit more.
    static let silenceNanoseconds = LifeWatch.nanosecondsMax

    private struct Heard: Sendable {
        var time: Int64
        /// When it was heard to have said so.
        var last: UInt64
        /// Whether it has said something after what was heard first.
        var isAlive = false
    }

    private var heard: [String: Heard] = [:]

    /// Takes what all have said.
    ///
    /// - Parameters:
    ///   - records: What they have said last.
    ///   - identity: That of this replica, whose own record does not count.
    ///   - now: The time, of a clock that never goes back.
    /// - Returns: What is known of the others now.
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
