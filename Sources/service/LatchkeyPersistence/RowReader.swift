internal import Glibc
internal import LatchkeyStore

/// Reads the rows of a database, and checks each checksum and that no row is missing.
struct RowReader {
    private static let chunkCount = 1024

    let connection: Connection
    let meta: Meta
    /// The path of the database.
    let path: String

    init(_ database: OpenedDatabase) {
        connection = database.connection
        meta = database.meta
        path = database.folder.database
    }

    init(_ connection: Connection, _ meta: Meta, _ path: String) {
        self.connection = connection
        self.meta = meta
        self.path = path
    }

    private func run<Result>(
        readable: Revision?,
        _ body: () throws -> Result
    ) throws(PersistenceFailure) -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, path, readable: readable)
        } catch let failure as PersistenceFailure {
            throw failure
        } catch let finding as Finding {
            throw .damaged(path, finding.text, readable: finding.readable)
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
    }

    /// An error in a row.
    private struct Finding: Error {
        let text: String
        var readable: Revision?
    }

    // MARK: The table stored

    static func storedReading(_ connection: Connection) throws(DatabaseError) -> Statement {
        let author = try isFirstFormat(connection) ? "null" : "author"
        return try Statement(
            connection,
            "select name, value, revision, created, expiry, checksum, \(author) from stored "
                + "order by name"
        )
    }

    /// Whether the database lacks the columns that came with the second format.
    private static func isFirstFormat(_ connection: Connection) throws(DatabaseError) -> Bool {
        try connection.integer("pragma user_version") == Schema.firstFormat
    }

    func readStored(
        _ body: ([Property]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        try run(readable: nil) {
            let rows = try Self.storedReading(connection)
            var (count, sum): (Int64, Int64) = (0, 0)
            var chunk: [Property] = []
            var former: Property?
            while try rows.step() {
                count += 1
                let property = try property(rows, count, behind: former)
                sum = Self.add(sum, rows.integer(5))
                former = property
                chunk.append(property)
                if chunk.count == Self.chunkCount {
                    try body(chunk)
                    chunk.removeAll(keepingCapacity: true)
                }
            }
            guard count == meta[.storedCount], sum == meta[.storedSum] else {
                throw Finding(
                    text: "the table stored has \(count) rows, which are not the "
                        + "\(meta[.storedCount]) that were written"
                )
            }
            if !chunk.isEmpty {
                try body(chunk)
            }
        }
    }

    /// A sum of checksums that stays positive.
    static func add(_ sum: Int64, _ checksum: Int64) -> Int64 { (sum &+ checksum) & .max }

    /// A property of the table `stored`, which is sorted by name.
    private func property(
        _ rows: Statement,
        _ index: Int64,
        behind former: Property?
    ) throws(Finding) -> Property {
        guard let property = wholeProperty(rows) else {
            throw Finding(text: "row \(index) of the table stored is not what was written")
        }
        if let former, unsafe former.nameBytes.order(property.nameBytes) != true {
            throw Finding(text: "row \(index) of the table stored is not in its place")
        }
        return property
    }

    /// The property of the current row, or nil if the row is not what was written.
    func wholeProperty(_ rows: Statement) -> Property? {
        let numbers = RowNumbers(
            revision: rows.integer(2),
            created: rows.integer(3),
            expiry: rows.optionalInteger(4)
        )
        let (name, value) = unsafe (rows.bytes(0), rows.bytes(1))
        guard rows.isText(0), rows.isText(1),
            rows.isNull(6) || rows.isText(6),
            unsafe numbers.storedChecksum(name, value, rows.optionalBytes(6)) == rows.integer(5)
        else {
            return nil
        }
        return unsafe Self.property(name, value, numbers)
    }

    /// The name of a property, which keeps its bytes.
    static func name(of property: Property) -> PropertyName? {
        unsafe InputCheck.name(property.nameBytes, owner: property.owner)
    }

    /// The property, or nil if no store can have it: a checksum tells that the file has the bytes
    /// that were written, not which program wrote them.
    static func property(
        _ name: UnsafeRawBufferPointer,
        _ value: UnsafeRawBufferPointer,
        _ numbers: RowNumbers
    ) -> Property? {
        guard let name = unsafe InputCheck.name(name) else {
            return nil
        }
        return unsafe InputCheck.property(
            name,
            value,
            revision: numbers.revision,
            created: numbers.created,
            expiry: numbers.expiry
        )
    }

    // MARK: The table changes

    /// The progress in reading the table `changes`.
    struct ChangesRead {
        var byteCount = 0
        var commitCount = 0
        var rowCount = 0
        /// The revision of the last whole commit.
        var revision: Revision
    }

    /// Reads the commits that are not in `stored`.
    ///
    /// `progress` covers the rows so far, also if a row is damaged.
    func readChanges(
        _ progress: inout ChangesRead,
        _ body: ([StoredCommit]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        let start = meta.storedRevision
        progress = ChangesRead(revision: start)
        var read = progress
        defer { progress = read }
        try run(readable: nil) {
            let added = try Self.isFirstFormat(connection) ? "null, null" : ChangeRow.added
            let rows = try Statement(connection, ChangeRow.readingAll(added: added))
            var expected: Expected?
            var effects: [StoredEffect] = []
            var chunk: [StoredCommit] = []
            // Whole commits before the damage are read, too: a recovery keeps them.
            var damage: Finding?
            do {
                while try Self.step(rows, readable: read.revision) {
                    let row = ChangeRow(rows)
                    let isBehind = row.row > meta[.storedRow]
                    let effect = try check(row, rows, expected, isBehind, read.revision)
                    expected = Expected(behind: row)
                    guard isBehind else { continue }
                    read.rowCount += 1
                    read.byteCount += unsafe rows.bytes(8).count + rows.bytes(9).count
                    effects.append(effect)
                    guard row.more == 0 else {
                        continue
                    }
                    chunk.append(
                        StoredCommit(
                            revision: row.revision,
                            time: row.time,
                            author: unsafe rows.optionalBytes(10).map { unsafe Array($0) },
                            effects: effects
                        )
                    )
                    effects.removeAll()
                    read.revision = row.revision
                    read.commitCount += 1
                    if chunk.count == Self.chunkCount {
                        try body(chunk)
                        chunk.removeAll(keepingCapacity: true)
                    }
                }
                if !effects.isEmpty {
                    damage = Finding(
                        text: "the last commit in the table changes is not whole",
                        readable: read.revision
                    )
                }
                read.revision = max(read.revision, meta.skipRevision)
            } catch let finding as Finding {
                damage = finding
            }
            if !chunk.isEmpty {
                try body(chunk)
            }
            if let damage {
                throw damage
            }
        }
    }

    /// The expected numbers of the next row.
    private struct Expected {
        let row: Int64
        /// Nil, as the revision, if another commit begins.
        var more: Int64?
        var revision: Revision?

        init(behind former: ChangeRow) {
            row = former.row &+ 1
            guard former.more > 0 else { return }
            (more, revision) = (former.more - 1, former.revision)
        }
    }

    /// The effect of a row, which must be the next one and whole.
    private func check(
        _ row: ChangeRow,
        _ rows: Statement,
        _ expected: Expected?,
        _ isBehind: Bool,
        _ revision: Revision
    ) throws -> StoredEffect {
        // Rows that `stored` has may be deleted, from the first one on.
        guard row.row == expected?.row ?? min(row.row, meta[.storedRow] + 1) else {
            throw Finding(
                text: "rows before row \(row.row) of the table changes are missing",
                readable: revision
            )
        }
        guard row.checksum == row.computedChecksum(rows), let effect = row.effect(rows),
            row.more == expected?.more ?? max(0, row.more),
            row.revision == expected?.revision ?? row.revision,
            !isBehind || follows(row, revision)
        else {
            throw Finding(
                text: "row \(row.row) of the table changes is not what was written",
                readable: revision
            )
        }
        return effect
    }

    /// Whether a row can be of the commit after a revision.
    private func follows(_ row: ChangeRow, _ revision: Revision) -> Bool {
        row.row > meta[.skipRow]
            ? row.revision == max(revision, meta.skipRevision) + 1
                // Revisions can have been skipped before, too.
            : row.revision > revision && row.revision <= meta.skipRevision
    }

    private static func step(_ rows: Statement, readable: Revision) throws -> Bool {
        do {
            return try rows.step()
        } catch  where error.isDamage {
            throw Finding(text: error.text, readable: readable)
        }
    }

    // MARK: The table notes

    /// The position in the log of a cluster; nil if there is none.
    func position() throws(PersistenceFailure) -> [UInt8]? {
        var position: [UInt8]?
        try readNotes { (revision, _, note) throws(PersistenceFailure) in
            if revision == BatchWriter.positionRevision { position = note }
        }
        return position
    }

    func readNotes(
        _ body: (Revision, Timestamp, [UInt8]) throws(PersistenceFailure) -> Void
    ) throws(PersistenceFailure) {
        try run(readable: nil) {
            let rows = try Statement(
                connection,
                "select revision, time, checksum, note from notes order by revision"
            )
            while try rows.step() {
                let (revision, time) = (rows.integer(0), rows.integer(1))
                let computed = unsafe RowChecksum.of(
                    .notes,
                    [revision, time, 0, 0, 0],
                    rows.bytes(3)
                )
                // The position in a log is a note without a revision and a time.
                guard rows.integer(2) == computed, let number = InputCheck.revision(revision),
                    number == BatchWriter.positionRevision || InputCheck.time(time) != nil
                else {
                    throw Finding(
                        text: "the row of revision \(revision) of the table notes is not what was "
                            + "written"
                    )
                }
                try body(
                    number,
                    Timestamp(milliseconds: time),
                    unsafe Array(rows.bytes(3))
                )
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes sort before the others, as names do; nil if they are the same.
    func order(_ other: UnsafeRawBufferPointer) -> Bool? {
        guard let start = baseAddress, let otherStart = other.baseAddress else {
            return count == other.count ? nil : count < other.count
        }
        let order = unsafe memcmp(start, otherStart, Swift.min(count, other.count))
        return order == 0 ? count == other.count ? nil : count < other.count : order < 0
    }
}
