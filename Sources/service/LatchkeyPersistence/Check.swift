package import LatchkeyStore

/// The result of a check of a data folder.
package struct CheckReport: Sendable {
    /// Messages about damage; none if all data is as it was written.
    package var damages: [String] = []
    package var storedRevision: Revision = 0
    /// The last revision up to which everything is readable.
    package var lastRevision: Revision = 0
    package var propertyCount = 0
    package var changeCount = 0
    package var noteCount = 0
    package var byteCount = 0
    /// For a backup: whether a service uses the folder.
    package var isInUse = false

    package init() {}
}

extension Persistence {
    /// Looks for damage in a data folder that no process uses.
    ///
    /// - Throws: If the files are not ours, or cannot be read at all.
    package static func check(_ path: String) throws(PersistenceFailure) -> CheckReport {
        let folder = try Folder(path, mayCreate: false)
        return try check(folder)
    }

    static func check(_ folder: Folder) throws(PersistenceFailure) -> CheckReport {
        var report = CheckReport()
        report.byteCount =
            (Folder.byteCount(folder.database) ?? 0) + (Folder.byteCount(folder.log) ?? 0)
        do {
            let database = try OpenedDatabase(folder, startRevision: nil)
            report.read(RowReader(database))
        } catch {
            guard error.code == .damaged else {
                throw error
            }
            report.damages.append(error.message)
        }
        return report
    }
}

extension CheckReport {
    /// Reads all rows.
    ///
    /// - Parameters:
    ///   - reader: The reader of the rows.
    ///   - advises: Whether the messages about damage say what to do with a data folder.
    mutating func read(_ reader: RowReader, advises: Bool = true) {
        func add(_ body: () throws(PersistenceFailure) -> Void) {
            do {
                try body()
            } catch {
                damages.append(advises ? error.message : error.finding)
            }
        }
        storedRevision = reader.meta.storedRevision
        var properties = 0
        add { () throws(PersistenceFailure) in
            try reader.readStored { properties += $0.count }
        }
        propertyCount = properties
        var read = RowReader.ChangesRead(revision: storedRevision)
        add { () throws(PersistenceFailure) in
            try reader.readChanges(&read) { _ in }
        }
        changeCount = read.rowCount
        lastRevision = read.revision
        var notes = 0
        add { () throws(PersistenceFailure) in
            try reader.readNotes { _, _, _ in notes += 1 }
        }
        noteCount = notes
        if damages.isEmpty {
            var count: Int64?
            add { () throws(PersistenceFailure) in
                do throws(DatabaseError) {
                    count = try reader.connection.integer("select count(*) from properties")
                } catch {
                    throw PersistenceFailure(error, reader.path)
                }
            }
            propertyCount = Int(count ?? 0)
        }
    }
}
