internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// Copies all that can be read of a database into a new one, whose revisions begin 2³² behind.
struct Rescue {
    /// How far revisions go on behind those of another life of the store.
    static let skippedRevisionCount: Revision = 1 << 32

    /// Sentences about what could not be read.
    private(set) var losses: [String] = []

    /// Of a folder that may be damaged.
    ///
    /// SQLite reads of a damaged log what comes before the damage.
    init(_ folder: Folder, into file: String) throws(PersistenceFailure) {
        let scan = try LogScan(folder.log)
        if let damage = scan.damage {
            losses.append(
                "All commits in the log from frame \(damage.frame) on are lost: at least "
                    + "\(scan.byteCount - damage.byte) bytes of '\(folder.log)'."
            )
        }
        do {
            let source = try Connection(folder.database)
            try OpenedDatabase.checkTables(source)
            let meta: Meta
            do {
                meta = try Meta(source)
            } catch  where error.isDamage {
                losses.append("Properties in the table stored may be older than they were.")
                meta = try Self.guessedMeta(source)
            }
            try copy(RowReader(source, meta, folder.database), file)
        } catch {
            throw PersistenceFailure(error, folder.database)
        }
    }

    /// Of a whole database.
    init(_ reader: RowReader, into file: String) throws(PersistenceFailure) {
        do {
            try copy(reader, file)
        } catch {
            throw PersistenceFailure(error, reader.path)
        }
    }

    /// Without its numbers, all changes that are there are read.
    private static func guessedMeta(_ source: Connection) throws(DatabaseError) -> Meta {
        let first = try Statement(source, "select row, revision from changes order by row limit 1")
        let hasRows = try first.step()
        let number = hasRows ? InputCheck.revision(first.integer(1)) : nil
        let revision = max(1, number ?? 1) - 1
        var meta = Meta(startRevision: revision, identity: 1, time: Timestamp(milliseconds: 0))
        meta[.storedRow] = hasRows ? max(1, first.integer(0)) - 1 : 0
        return meta
    }

    private mutating func copy(_ reader: RowReader, _ file: String) throws(DatabaseError) {
        var state = reader.readWholeStored()
        if let loss = state.loss {
            losses.append(loss)
        }
        var read = RowReader.ChangesRead(revision: reader.meta.storedRevision)
        var time = reader.meta[.storedTime]
        do {
            try reader.readChanges(&read) { commits in
                for commit in commits {
                    time = max(time, commit.time.milliseconds)
                    for effect in commit.effects {
                        state.properties[effect.name] = effect.property
                        state.authors[effect.name] = commit.author
                    }
                }
            }
        } catch {
            losses.append(
                "All commits behind revision \(read.revision) are lost: \(error.message)"
            )
        }
        // A property can be newer than the last commit that can be read.
        let newest = state.properties.values.reduce(read.revision) { max($0, $1.revision) }
        let start = newest + Self.skippedRevisionCount
        guard InputCheck.revision(start) != nil else {
            throw DatabaseError(code: DatabaseError.damage, text: "its revisions are used up")
        }
        try write(
            state.properties.values.sorted { one, other in
                unsafe one.nameBytes.order(other.nameBytes) == true
            },
            state.authors,
            from: reader.meta.startRevision,
            after: start,
            time,
            file
        )
    }

    private func write(
        _ properties: [Property],
        _ authors: [PropertyName: [UInt8]],
        from first: Revision,
        after start: Revision,
        _ time: Int64,
        _ file: String
    ) throws(DatabaseError) {
        let target = try Connection(file, .make)
        var meta = try OpenedDatabase.createTables(target, start)
        try target.execute("begin")
        let writing = try Statement(target, BatchWriter.storedWriting)
        for property in properties {
            let numbers = RowNumbers(property)
            let author = RowReader.name(of: property).flatMap { authors[$0] }
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
        meta[.startRevision] = Int64(bitPattern: first)
        meta[.storedCount] = Int64(properties.count)
        meta[.storedTime] = time
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

/// What is read of a database that may be damaged.
private struct Rescued {
    var properties: [PropertyName: Property]
    var authors: [PropertyName: [UInt8]]
    /// A sentence about what cannot be read.
    let loss: String?
}

extension RowReader {
    /// All rows of `stored` that are whole, and a sentence about the others.
    fileprivate func readWholeStored() -> Rescued {
        var properties: [PropertyName: Property] = [:]
        var authors: [PropertyName: [UInt8]] = [:]
        var (lostCount, ending): (Int64, String?) = (0, nil)
        // Damaged pages can lead to others again and again. Each row takes some bytes.
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
                properties[name] = property
                authors[name] = unsafe rows.optionalBytes(6).map { unsafe Array($0) }
            }
        } catch {
            ending = error.text
        }
        let missing = max(lostCount, meta[.storedCount] - Int64(properties.count))
        guard missing > 0 || ending != nil else {
            return Rescued(properties: properties, authors: authors, loss: nil)
        }
        return Rescued(
            properties: properties,
            authors: authors,
            loss:
                "Lost of the \(max(meta[.storedCount], missing)) stored properties: \(missing)"
                + (ending.map { ": \($0)." } ?? ".")
        )
    }
}
