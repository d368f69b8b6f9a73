internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

// The records in which this replica and the others describe themselves.

extension Cluster {
    /// Reads the records of all replicas, then writes the record of this one.
    ///
    /// In this order: otherwise this record would hide that of another process with the same data.
    func exchangeRecords(_ started: Started) {
        saying.enter()
        directory.records { [self] result in
            if case .success(let records) = result { hears(of: records, started) }
            guard !copies.read({ $0.isCopy }), self.started.read({ $0 }) != nil else {
                return saying.leave()
            }
            directory.say(record(started), of: started.persistence.identity) { [saying] _ in
                saying.leave()
            }
        }
    }

    private func hears(of records: [String: ClusterDirectory.Record], _ started: Started) {
        let identity = started.persistence.identity
        let isCopy = copies.write { $0.hears(records[identity], process, from: started.start) }
        if isCopy {
            started.replica.enter(
                .otherLog(
                    "Another process runs with the id of this folder (\(identity)), and began "
                        + "before this one: one of both folders is a copy. Move this one away, "
                        + "and start with an empty one."
                )
            )
        }
        var records = records
        records[identity] = record(started)
        state.hears(of: records)
        state.disks.hears(records, of: identity, at: StateAge.now())
        raiseRules(of: started.replica, records)
        completeAgreement(started.replica)
    }

    /// The place of the files: entries that were executed and not stored are needed again after a
    /// restart.
    func storedPlace(_ started: Started) -> LogPlace {
        let stored = started.persistence.status.position.flatMap { LogPosition(decoding: $0) }
        return stored?.place ?? started.start
    }

    private func record(_ started: Started) -> ClusterDirectory.Record {
        var record = ClusterDirectory.Record(
            url: settings.url,
            place: storedPlace(started).number,
            revision: started.replica.position.revision,
            state: state.word,
            time: StoreClock.system.now().milliseconds,
            format: settings.rules.rawValue
        )
        record.process = process
        record.needsLog = started.replica.phase.needsLog ? nil : false
        record.isFull = state.disks.isOwnFull ? true : nil
        return record
    }

    /// The current record of this replica; nil before it has started.
    var ownRecord: (identity: String, record: ClusterDirectory.Record)? {
        started.read { $0 }.map { ($0.persistence.identity, record($0)) }
    }
}

/// Finds out whether another process runs with a copy of the same data.
///
/// The process that began later must stop. The record of a process that is gone does not change,
/// except by a write that was still on its way to etcd; so two newer records are needed.
struct CopyWatch: Sendable {
    private var other: (process: UInt64, time: Int64, newerCount: Int)?
    private(set) var isCopy = false
    /// Whether another process has written a place that these files did not have.
    private var isBehind = false

    /// Whether the record belongs to this folder: a copy must not remove the record of its
    /// original.
    var isOriginal: Bool { !isCopy && !isBehind }

    /// A number for a process that begins now: later processes have greater numbers.
    static func number(at now: Timestamp) -> UInt64 {
        UInt64(max(0, now.milliseconds)) << 20 | UInt64.random(in: 0..<1 << 20)
    }

    /// Takes the last record for the data of this process.
    ///
    /// - Parameters:
    ///   - record: The record; nil if there is none.
    ///   - own: The number of this process.
    ///   - start: The place that its files had when it began.
    /// - Returns: True once, if this process must stop.
    mutating func hears(
        _ record: ClusterDirectory.Record?,
        _ own: UInt64,
        from start: LogPlace
    ) -> Bool {
        if let record, record.process != own, record.place > start.number { isBehind = true }
        guard !isCopy, let record, let process = record.process, process < own else {
            return false
        }
        guard let known = other, known.process == process else {
            other = (process, record.time, 0)
            return false
        }
        guard record.time > known.time else { return false }
        other = (process, record.time, known.newerCount + 1)
        isCopy = known.newerCount == 1
        return isCopy
    }
}
