internal import CLatchkeySystem
internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// Writes transactions; used by one thread.
final class BatchWriter {
    /// The maximum of rows of a slice of compaction, unless one batch brings more.
    static let sliceCountMax = 4000
    /// A slice ends with the row that exceeds so many bytes.
    private static let sliceByteCount = 1 << 20
    /// A slice deletes at most its maximum of rows times this factor.
    private static let removalFactor: Int64 = 5

    /// The revision of the row of `notes` that has the position: no commit has it.
    static let positionRevision: Revision = 0

    static let storedWriting =
        "insert or replace into stored(name, value, revision, created, expiry, checksum, author) "
        + "values(?, ?, ?, ?, ?, ?, ?)"

    let connection: Connection
    /// As on the disk.
    private(set) var meta: Meta
    /// The last row of `changes`.
    private(set) var lastRow: Int64
    /// The last revision on the disk.
    private(set) var lastRevision: Revision
    /// The time of the last commit that this process has written.
    private(set) var lastTime = Timestamp(milliseconds: 0)
    /// The last position that was written.
    private(set) var lastPosition: [UInt8]?
    /// The first row of `changes` that is not deleted.
    private var firstRow: Int64
    /// The number of rows that can be deleted at once in a short time.
    private var removalCount: Int64 = 100
    private let removalNanoseconds: ClosedRange<UInt64>
    /// The frames of the log, which SQLite tells after each transaction.
    let frames = LogFrames()
    /// The round of compaction that is being made.
    var round: CompactionRound?
    let path: String
    let folder: Folder
    /// The notes about the log.
    var notes: LogNotes { folder.notes }
    /// As the last transaction saw it.
    var dataVersion: Int64
    /// Whether a call of SQLite has failed since the version was seen: SQLite then drops its cache,
    /// and counts that as a change, too.
    var isVersionInDoubt = false
    let noteInterval: Duration
    let noteFrameCount: Int
    /// The time from which the frames of the log may be noted again.
    var nextNote: ContinuousClock.Instant

    private let begin: Statement
    let version: Statement
    private let insertChange: Statement
    private let insertNote: Statement
    private let writeMeta: Statement
    private let commit: Statement
    private let readChange: Statement
    private let readStored: Statement
    private let writeStored: Statement
    private let removeStored: Statement
    private let removeChanges: Statement
    private let removeNotes: Statement

    init(_ database: OpenedDatabase, _ tuning: Tuning) throws(DatabaseError) {
        let connection = database.connection
        self.connection = connection
        meta = database.meta
        lastRow = database.lastRow
        lastRevision = database.lastRevision
        folder = database.folder
        path = folder.database
        noteInterval = tuning.noteInterval
        nextNote = .now + noteInterval
        noteFrameCount = tuning.checkpointFrameCount
        removalNanoseconds = tuning.removalNanoseconds
        firstRow = try connection.integer("select min(row) from changes") ?? database.lastRow + 1
        begin = try Statement(connection, "begin immediate")
        version = try Statement(connection, "pragma data_version")
        insertChange = try Statement(connection, ChangeRow.writing)
        insertNote = try Statement(
            connection,
            "insert or replace into notes(revision, time, checksum, note) values(?, ?, ?, ?)"
        )
        writeMeta = try Statement(connection, Meta.writing)
        commit = try Statement(connection, "commit")
        readChange = try Statement(
            connection,
            "\(ChangeRow.reading) where row = ?"
        )
        readStored = try Statement(connection, "select checksum from stored where name = ?")
        writeStored = try Statement(connection, Self.storedWriting)
        removeStored = try Statement(connection, "delete from stored where name = ?")
        removeChanges = try Statement(connection, "delete from changes where row < ?")
        removeNotes = try Statement(
            connection,
            "delete from notes where revision in (select revision from notes where revision <= ?1 "
                + "order by revision limit 2000) and time < ?2"
        )
        frames.follow(connection)
        dataVersion = database.dataVersion
    }

    // MARK: Transactions

    /// The work of a transaction besides commits.
    struct Extra {
        /// Makes a slice of compaction, if there is something to compact.
        var compacts = false
        /// The maximum of rows of the slice.
        var sliceCount = 0
        /// The number of rows of the commits.
        var rowCount = 0
        /// Older notes of compacted commits are deleted.
        var noteTime = Timestamp(milliseconds: .min)
        /// Writes something in any case.
        var isProbe = false
        /// A position to store, after that of the last commit.
        var position: [UInt8]?
        /// The revision that the commits, or the position, follow, if revisions were skipped.
        var skip: Revision?
    }

    /// Makes one transaction and syncs it; returns how many rows it compacted.
    func write(_ batch: [QueuedCommit], _ extra: Extra = Extra()) throws(BatchFailure) -> Int {
        let former = (meta, lastRow, firstRow, round)
        var compactedCount = 0
        do {
            try begin.run()
            try checkVersion()
            if let skip = extra.skip {
                meta[.skipRow] = lastRow
                meta[.skipRevision] = Int64(bitPattern: skip)
                try meta.write(MetaKey.skips, writeMeta)
            }
            for queued in batch {
                try insert(queued)
            }
            if let position = extra.position ?? batch.last?.position {
                // Its time keeps it from being deleted with old notes.
                try insert(position, revision: Self.positionRevision, .never)
            }
            if extra.compacts {
                compactedCount = try compact(extra)
            }
            if extra.isProbe {
                meta[.probe] &+= 1
                try meta.write([.probe], writeMeta)
            }
        } catch {
            doubtVersion(after: error)
            connection.rollBack()
            (meta, lastRow, firstRow, round) = former
            throw .of(error, path)
        }
        do {
            try commit.run()
        } catch {
            doubtVersion(after: error)
            connection.rollBack()
            (meta, lastRow, firstRow, round) = former
            throw .of(error, path)
        }
        lastRevision = extra.skip ?? lastRevision
        if let last = batch.last {
            lastRevision = last.commit.revision
            lastTime = last.commit.time
        }
        lastPosition = extra.position ?? batch.last?.position ?? lastPosition
        return compactedCount
    }

    // MARK: Commits

    private func insert(_ queued: QueuedCommit) throws(DatabaseError) {
        let commit = queued.commit
        guard let first = commit.first else {
            return
        }
        let author = queued.note?.author
        try unsafe author.withOptionalBytes { (author) throws(DatabaseError) in
            var more = Int64(commit.others.count)
            try unsafe insert(first, of: commit, more: more, author)
            for effect in commit.others {
                more -= 1
                try unsafe insert(effect, of: commit, more: more, author)
            }
        }
        if let note = queued.note?.bytes {
            try insert(note, revision: commit.revision, commit.time)
        }
    }

    private func insert(
        _ effect: Commit.Effect,
        of commit: Commit,
        more: Int64,
        _ author: UnsafeRawBufferPointer?
    ) throws(DatabaseError) {
        lastRow += 1
        let time = commit.time.milliseconds
        let reason = Int64(effect.reason.rawValue)
        let name = unsafe effect.nameBytes
        let revision = Int64(bitPattern: commit.revision)
        var numbers = RowNumbers(revision: revision, created: 0, expiry: nil)
        var value: UnsafeRawBufferPointer?
        if let property = effect.property {
            numbers = RowNumbers(property)
            unsafe value = property.valueBytes
        }
        let checksum = unsafe ChangeRow.checksum(
            numbers,
            revision: revision,
            more: more,
            reason: reason,
            time: time,
            name,
            value,
            author
        )
        let statement = insertChange
        try statement.bind(1, lastRow)
        try statement.bind(2, revision)
        try statement.bind(3, more)
        try statement.bind(4, reason)
        try statement.bind(5, time)
        try statement.bind(6, effect.property == nil ? nil : numbers.created)
        try statement.bind(7, numbers.expiry)
        try statement.bind(8, checksum)
        try unsafe statement.bindText(9, name)
        try unsafe statement.bindOptionalText(10, value)
        try unsafe statement.bindOptionalText(11, author)
        try statement.bind(12, numbers.revision == revision ? nil : numbers.revision)
        try statement.run()
    }

    private func insert(
        _ note: [UInt8],
        revision: Revision,
        _ time: Timestamp
    ) throws(DatabaseError) {
        let (revision, time) = (Int64(bitPattern: revision), time.milliseconds)
        try unsafe note.withBytes { (bytes) throws(DatabaseError) in
            try insertNote.bind(1, revision)
            try insertNote.bind(2, time)
            try insertNote.bind(
                3,
                unsafe RowChecksum.of(.notes, [revision, time, 0, 0, 0], bytes)
            )
            try unsafe insertNote.bindBytes(4, bytes)
            try insertNote.run()
        }
    }

    // MARK: Compaction

    /// How much of the compaction is done, from 0 to 1; nil if there is nothing to do.
    var compactionProgress: Double? {
        guard let round else {
            return hasCompaction ? 1 : nil
        }
        return Double(round.position) / Double(max(1, round.rows.count))
    }

    /// Whether there is something to compact.
    var hasCompaction: Bool { round != nil || firstRow <= meta[.storedRow] }

    /// Makes the next slice of the round, or deletes compacted rows; returns how many rows it
    /// compacted.
    private func compact(_ extra: Extra) throws(DatabaseError) -> Int {
        guard var round else {
            try removeCompacted(extra)
            return 0
        }
        let start = round.position
        var keys: [MetaKey] = [.storedCount, .storedSum]
        if round.position == 0 {
            meta[.roundRevision] = Int64(bitPattern: round.revision)
            meta[.roundRow] = round.lastRow
            keys += [.roundRevision, .roundRow]
        }
        var byteCount = 0
        let end = min(round.position + extra.sliceCount, round.rows.count)
        while round.position < end, byteCount < Self.sliceByteCount {
            byteCount += try bringForward(round.rows[round.position])
            round.position += 1
        }
        if round.position == round.rows.count {
            meta[.storedRevision] = meta[.roundRevision]
            meta[.storedRow] = round.lastRow
            meta[.storedTime] = max(meta[.storedTime], round.time.milliseconds)
            keys += [.storedRevision, .storedRow, .storedTime]
            self.round = nil
        } else {
            self.round = round
        }
        try meta.write(keys, writeMeta)
        return round.position - start
    }

    /// Copies a row of `changes` into `stored`; returns how many bytes it has.
    private func bringForward(_ row: Int64) throws(DatabaseError) -> Int {
        defer { readChange.reset() }
        try readChange.bind(1, row)
        guard try readChange.step() else {
            throw DatabaseError(
                code: DatabaseError.damage,
                text: "row \(row) of the table changes is missing"
            )
        }
        let change = ChangeRow(readChange)
        guard change.checksum == change.computedChecksum(readChange) else {
            throw DatabaseError(
                code: DatabaseError.damage,
                text: "row \(row) of the table changes is not what was written"
            )
        }
        let (name, value) = unsafe (readChange.bytes(8), readChange.bytes(9))
        let former = try unsafe storedChecksum(name)
        var sum = meta[.storedSum] &- (former ?? 0)
        if change.isRemoval {
            if former != nil {
                try unsafe removeStored.bindText(1, name)
                try removeStored.run()
                meta[.storedCount] -= 1
            }
        } else {
            let author = unsafe readChange.optionalBytes(10)
            let checksum = unsafe change.numbers.storedChecksum(name, value, author)
            try unsafe writeStored.bindText(1, name)
            try unsafe writeStored.bindText(2, value)
            try writeStored.bind(3, change.numbers.revision)
            try writeStored.bind(4, change.numbers.created)
            try writeStored.bind(5, change.numbers.expiry)
            try writeStored.bind(6, checksum)
            try unsafe writeStored.bindOptionalText(7, author)
            try writeStored.run()
            sum &+= checksum
            meta[.storedCount] += former == nil ? 1 : 0
        }
        meta[.storedSum] = sum & .max
        return name.count + value.count
    }

    private func storedChecksum(_ name: UnsafeRawBufferPointer) throws(DatabaseError) -> Int64? {
        defer { readStored.reset() }
        try unsafe readStored.bindText(1, name)
        return try readStored.step() ? readStored.integer(0) : nil
    }

    /// Deletes the next rows that are compacted.
    private func removeCompacted(_ extra: Extra) throws(DatabaseError) {
        guard firstRow <= meta[.storedRow] else {
            return
        }
        let count = min(Int64(extra.sliceCount) * Self.removalFactor, removalCount)
        firstRow = min(firstRow + count, meta[.storedRow] + 1)
        let start = latchkey_system_nanoseconds()
        try removeChanges.bind(1, firstRow)
        try removeChanges.run()
        let duration = latchkey_system_nanoseconds() - start
        if duration > removalNanoseconds.upperBound {
            removalCount = max(1, count / 4)
        } else if duration < removalNanoseconds.lowerBound {
            removalCount = max(removalCount, count * 2)
        }
        try removeNotes.bind(1, meta[.storedRevision])
        try removeNotes.bind(2, extra.noteTime.milliseconds)
        try removeNotes.run()
    }
}
