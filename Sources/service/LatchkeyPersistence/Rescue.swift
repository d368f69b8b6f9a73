internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// Copies the readable data of a database into a new one, whose revisions begin later.
struct Rescue {
    /// The time of the rescue: revisions begin elsewhere at each time, so that two stores that
    /// begin with the same properties have different ones.
    private let now: Timestamp
    /// Messages about unreadable data.
    private(set) var losses: [String] = []

    /// Rescues a folder that may be damaged.
    ///
    /// SQLite reads a damaged log up to the damage. With nil for `file`, it only reports the
    /// losses, and nothing is written.
    init(_ folder: Folder, into file: String?, at now: Timestamp) throws(PersistenceFailure) {
        self.now = now
        let scan = try LogScan(folder.log)
        // As at a start: a database of an earlier format may have no notes.
        let format = (try? OpenedDatabase.checkHeader(folder.database)) ?? Schema.format
        let hasNotes = format >= Schema.format || !folder.notes.isEmpty
        let finding = hasNotes ? folder.notes.finding(scan, folder.log) : nil
        // SQLite would mix pages of another time or database with those of this one.
        let isOther =
            finding?.file == folder.log && scan.frameCount > 0 && !folder.notes.knows(scan.salts)
        if let damage = scan.damage {
            losses.append(
                "All commits in the log from frame \(damage.frame) on may be lost: at least "
                    + "\(scan.byteCount - damage.byte) bytes of '\(folder.log)'."
            )
        }
        if let finding, isOther || scan.damage == nil {
            losses.append(
                "Commits of the log may be lost: '\(finding.file)' is damaged: \(finding.text)."
            )
        }
        // With the rest of the log, SQLite would put older pages over newer ones if the database
        // already had the lost part of the log. Whether it had is not known.
        let isPart = scan.frameCount > 0 && (finding?.file == folder.log || scan.damage != nil)
        let whole: Connection.Access = Folder.unwritable(folder.path) == nil ? .write : .readFrozen
        // SQLite would make a log if there is none.
        let ways: [Connection.Access] =
            isOther || scan.frameCount == 0
            ? [.readWithoutLog] : isPart ? [.readWithoutLog, whole] : [whole]
        let best: Readable
        do {
            best = try Self.best(ways, folder.database)
        } catch {
            throw PersistenceFailure(error, folder.database)
        }
        losses += best.losses
        if let file { try write(best, file) }
    }

    /// Copies a whole database.
    init(_ reader: RowReader, into file: String, at now: Timestamp) throws(PersistenceFailure) {
        self.now = now
        let readable = Self.read(reader)
        losses = readable.losses
        try write(readable, file)
    }

    /// Numbers for a database that has lost its own: all its changes are read.
    private static func guessedMeta(_ source: Connection) throws(DatabaseError) -> Meta {
        let first = try Statement(source, "select row, revision from changes order by row limit 1")
        let hasRows = try first.step()
        let number = hasRows ? InputCheck.revision(first.integer(1)) : nil
        let revision = max(1, number ?? 1) - 1
        var meta = Meta(startRevision: revision, identity: 1, time: Timestamp(milliseconds: 0))
        meta[.storedRow] = hasRows ? max(1, first.integer(0)) - 1 : 0
        // Revisions can have been skipped anywhere.
        let last = try? source.integer("select revision from changes order by row desc limit 1")
        let skipped = last.flatMap { InputCheck.revision($0) } ?? InputCheck.revisionMax
        meta[.skipRevision] = hasRows ? Int64(bitPattern: skipped) : 0
        meta[.skipRow] = .max
        return meta
    }

    /// The best reading in one of these ways.
    private static func best(
        _ ways: [Connection.Access],
        _ path: String
    ) throws(DatabaseError) -> Readable {
        var found: [Readable] = []
        for (index, way) in ways.enumerated() {
            do throws(DatabaseError) {
                found.append(try read(path, way))
            } catch {
                guard index + 1 < ways.count || !found.isEmpty else { throw error }
            }
        }
        let best = found.min { one, other in
            (one.losses.count, other.newest) < (other.losses.count, one.newest)
        }
        guard let best else { preconditionFailure("There is no way to read \(path).") }
        return best
    }

    private static func read(
        _ path: String,
        _ access: Connection.Access
    ) throws(DatabaseError) -> Readable {
        let source = try Connection(path, access)
        try OpenedDatabase.checkTables(source)
        do {
            return read(RowReader(source, try Meta(source), path))
        } catch  where error.isDamage {
            var readable = read(RowReader(source, try guessedMeta(source), path))
            readable.losses.insert(
                "Properties in the table stored may be older than they were.",
                at: 0
            )
            return readable
        }
    }

    private static func read(_ reader: RowReader) -> Readable {
        var readable = reader.readWholeStored()
        var read = RowReader.ChangesRead(revision: reader.meta.storedRevision)
        do {
            try reader.readChanges(&read) { commits in
                for commit in commits {
                    readable.time = max(readable.time, commit.time.milliseconds)
                    for effect in commit.effects {
                        readable.properties[effect.name] = effect.property
                        readable.authors[effect.name] = commit.author
                    }
                }
            }
        } catch {
            readable.losses.append(
                "All commits after revision \(read.revision) are lost: \(error.message)"
            )
        }
        // A property can be newer than the last readable commit.
        readable.newest = readable.properties.values.reduce(read.revision) {
            max($0, $1.revision)
        }
        return readable
    }

    private func write(_ readable: Readable, _ file: String) throws(PersistenceFailure) {
        do throws(DatabaseError) {
            try copy(readable, file)
        } catch {
            throw PersistenceFailure(error, file)
        }
    }

    private func copy(_ readable: Readable, _ file: String) throws(DatabaseError) {
        guard let start = Revision.laterLife(of: readable.newest, at: now) else {
            throw DatabaseError(code: DatabaseError.damage, text: "its revisions are used up")
        }
        let properties = readable.properties.values.sorted { one, other in
            unsafe one.nameBytes.order(other.nameBytes) == true
        }
        let target = try Connection(file, .make)
        var meta = try OpenedDatabase.createTables(target, start)
        try target.execute("begin")
        let writing = try Statement(target, BatchWriter.storedWriting)
        for property in properties {
            let numbers = RowNumbers(property)
            let author = RowReader.name(of: property).flatMap { readable.authors[$0] }
            let checksum = try unsafe author.withOptionalBytes { (author) throws(DatabaseError) in
                let checksum = unsafe numbers.storedChecksum(
                    property.nameBytes,
                    property.valueBytes,
                    author
                )
                try writing.bindStored(property, numbers, checksum)
                try unsafe writing.bindOptionalText(7, author)
                try writing.run()
                return checksum
            }
            meta[.storedSum] = RowReader.add(meta[.storedSum], checksum)
        }
        // Nothing was stored at that revision; at `start`, properties are.
        meta[.startRevision] = Int64(bitPattern: readable.startRevision)
        meta[.storedCount] = Int64(properties.count)
        meta[.storedTime] = readable.time
        try meta.write(MetaKey.allCases, Statement(target, Meta.writing))
        try target.execute("commit")
    }
}

extension Statement {
    /// Binds a row of the table `stored`, whose bytes the property keeps.
    fileprivate func bindStored(
        _ property: Property,
        _ numbers: RowNumbers,
        _ checksum: Int64
    ) throws(DatabaseError) {
        try unsafe bindText(1, property.nameBytes)
        try unsafe bindText(2, property.valueBytes)
        try bind(3, numbers.revision)
        try bind(4, numbers.created)
        try bind(5, numbers.expiry)
        try bind(6, checksum)
    }
}

/// The readable data of a database that may be damaged.
private struct Readable {
    var properties: [PropertyName: Property] = [:]
    var authors: [PropertyName: [UInt8]] = [:]
    /// Messages about unreadable data.
    var losses: [String] = []
    let startRevision: Revision
    /// The revision of the last commit or property.
    var newest: Revision = 0
    /// The time of the last commit, in milliseconds.
    var time: Int64
}

extension RowReader {
    /// All whole rows of `stored`, and a message about the others.
    fileprivate func readWholeStored() -> Readable {
        var readable = Readable(startRevision: meta.startRevision, time: meta[.storedTime])
        var (lostCount, ending): (Int64, String?) = (0, nil)
        // Damaged pages can lead in a circle. The length limits the rows, as each takes some bytes.
        var leftCount = (Folder.byteCount(path) ?? 0) + (Folder.byteCount(path + "-wal") ?? 0)
        do {
            let rows = try Self.storedReading(connection)
            while try rows.step() {
                leftCount -= 1
                guard leftCount > 0 else {
                    ending = "its pages lead in a circle"
                    break
                }
                guard let property = wholeProperty(rows), let name = Self.name(of: property) else {
                    lostCount += 1
                    continue
                }
                readable.properties[name] = property
                readable.authors[name] = unsafe rows.optionalBytes(6).map { unsafe Array($0) }
            }
        } catch {
            ending = error.text
        }
        let missing = max(lostCount, meta[.storedCount] - Int64(readable.properties.count))
        if missing > 0 || ending != nil {
            readable.losses.append(
                "Lost of the \(max(meta[.storedCount], missing)) stored properties: \(missing)"
                    + (ending.map { ": \($0)." } ?? ".")
            )
        }
        return readable
    }
}
