internal import CSQLite
internal import Glibc
internal import LatchkeyStore

/// What a recovery did.
package struct RecoveryReport: Sendable {
    /// What was found.
    package var before = CheckReport()
    /// Sentences about what is lost, or would be.
    package var losses: [String] = []
    /// Whether files were changed.
    package var isDone = false
    /// Where the damaged files are now.
    package var keptPath: String?

    package init() {}
}

extension Persistence {
    /// Makes a damaged data folder usable, without what cannot be read.
    ///
    /// Without `acceptLoss` it only says what would be lost. The damaged files are kept in a folder
    /// of their own. Commits stay up to the first damaged row, and stored properties whose rows
    /// are whole. Revisions go on 2³² behind the last one that is known, and history and notes are
    /// dropped, as after a restore: a client may have seen commits that are lost.
    package static func recover(
        _ path: String,
        acceptLoss: Bool
    ) throws(PersistenceFailure) -> RecoveryReport {
        let folder = try Folder(path, mayCreate: false)
        var report = RecoveryReport()
        report.before = try check(folder)
        guard !report.before.damages.isEmpty else {
            return report
        }
        let rescued = folder.path + "/rescued.db"
        Copy.remove(rescued)
        let rescue = try Rescue(folder, into: rescued)
        report.losses = rescue.losses
        guard acceptLoss else {
            Copy.remove(rescued)
            return report
        }
        report.keptPath = try folder.replaceDatabase(by: rescued)
        report.isDone = true
        return report
    }

    /// Copies the database of a data folder, which may be in use, into a new file, and checks it.
    ///
    /// - Throws: Also if the copy is not as it has to be; then there is no file.
    package static func backup(
        of path: String,
        into file: String
    ) throws(PersistenceFailure) -> CheckReport {
        let database = path + "/" + Folder.databaseName
        guard Folder.byteCount(file) == nil else {
            throw PersistenceFailure(.inputOutput, "'\(file)' exists. Choose another name.")
        }
        guard (Folder.byteCount(database) ?? 0) > 0 else {
            throw PersistenceFailure(.inputOutput, "'\(path)' has no database.")
        }
        try checkUnused(path)
        do {
            let connection = try Connection(database)
            try OpenedDatabase.checkSchema(connection, database)
            let statement = try Statement(connection, "vacuum into ?")
            try unsafe Array(file.utf8).withBytes { (name) throws(DatabaseError) in
                try unsafe statement.bindText(1, name)
                try statement.run()
            }
        } catch let failure as PersistenceFailure {
            throw failure
        } catch let error as DatabaseError {
            Copy.remove(file)
            throw PersistenceFailure(error, database)
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
        do throws(PersistenceFailure) {
            try Copy.sync(file)
            let report = try Copy.check(file)
            guard let damage = report.damages.first else {
                return report
            }
            throw PersistenceFailure(.damaged, damage)
        } catch {
            Copy.remove(file)
            throw error
        }
    }

    /// Looks for damage of the log before SQLite drops what is behind it, if no service uses the
    /// folder: one that does has looked.
    private static func checkUnused(_ path: String) throws(PersistenceFailure) {
        let folder: Folder
        do throws(PersistenceFailure) {
            folder = try Folder(path, mayCreate: false)
        } catch {
            guard error.code == .inUse else {
                throw error
            }
            return
        }
        try OpenedDatabase.checkFiles(folder, mayCreate: false)
    }

    /// Makes a new data folder from a backup of another replica, with its revisions, its history
    /// and its position in the log.
    ///
    /// The backup is moved into the folder, and gets an identity of its own.
    package static func seed(
        _ file: String,
        into path: String,
        identity: Identity = Identity()
    ) throws(PersistenceFailure) {
        if let damage = try Copy.check(file).damages.first {
            throw PersistenceFailure(.damaged, damage)
        }
        do {
            let connection = try Connection(file)
            var meta = try Meta(connection)
            meta[.identity] = identity.number
            try meta.write([.identity], try Statement(connection, Meta.writing))
        } catch {
            throw PersistenceFailure(error, file)
        }
        let folder = try Folder(path, mayCreate: true)
        try folder.replaceDatabase(by: file)
    }

    /// Makes a new data folder from a backup.
    ///
    /// Revisions go on 2³² behind the last one, and history and notes are dropped, so that nothing
    /// that a client remembers matches.
    package static func restore(
        _ file: String,
        into path: String
    ) throws(PersistenceFailure) -> CheckReport {
        let report = try Copy.check(file)
        if let damage = report.damages.first {
            throw PersistenceFailure(.damaged, damage)
        }
        let folder = try Folder(path, mayCreate: true)
        guard !folder.hasDatabase, (Folder.byteCount(folder.database) ?? 0) == 0 else {
            throw PersistenceFailure(
                .inputOutput,
                "'\(path)' has a database. Choose a folder that is new or empty."
            )
        }
        do {
            let source = try Connection(file, isReadOnly: true)
            let reader = RowReader(source, try Meta(source), file)
            let rescued = path + "/rescued.db"
            Copy.remove(rescued)
            let rescue = try Rescue(reader, into: rescued)
            guard rescue.losses.isEmpty else {
                throw PersistenceFailure(.damaged, rescue.losses.joined(separator: " "))
            }
            try folder.replaceDatabase(by: rescued)
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, file)
        } catch let failure as PersistenceFailure {
            throw failure
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
        return try check(folder)
    }
}

/// A database in one file, without log and lock.
enum Copy {
    static func check(_ file: String) throws(PersistenceFailure) -> CheckReport {
        try OpenedDatabase.checkHeader(file)
        var report = CheckReport()
        report.byteCount = Folder.byteCount(file) ?? 0
        do {
            let connection = try Connection(file, isReadOnly: true)
            try OpenedDatabase.checkSchema(connection, file)
            let finding = try connection.text("pragma integrity_check(1)") ?? "no answer"
            if finding != "ok" {
                report.damages.append("'\(file)' is damaged: \(finding).")
            } else {
                report.read(RowReader(connection, try Meta(connection), file))
            }
        } catch let failure as PersistenceFailure {
            throw failure
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, file)
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
        return report
    }

    static func sync(_ file: String) throws(PersistenceFailure) {
        try Folder.sync(file)
        let parent = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        try Folder.sync(file.hasPrefix("/") ? parent + "/" : parent.isEmpty ? "." : parent)
    }

    static func remove(_ file: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            unsafe unlink(file + suffix)
        }
    }
}

extension Folder {
    /// Puts a whole database in the place of that of the folder; returns where the former one is.
    ///
    /// The new one takes the name last, so that a process that is killed leaves the former one, or
    /// a folder without database, which is refused.
    @discardableResult
    func replaceDatabase(by file: String) throws(PersistenceFailure) -> String? {
        try Copy.sync(file)
        var kept: String?
        if Folder.byteCount(database) != nil || Folder.byteCount(log) != nil {
            let place = path + "/damaged-\(StoreClock.system.now().milliseconds)"
            guard unsafe mkdir(place, 0o700) == 0 else {
                throw .call("mkdir", place)
            }
            try noteDatabase()
            // The log first: without it, what is left is refused or whole.
            for suffix in ["-wal", "-shm", ""] {
                let name = Self.databaseName + suffix
                guard unsafe rename(path + "/" + name, place + "/" + name) == 0 || errno == ENOENT
                else {
                    throw .call("rename", path + "/" + name)
                }
            }
            kept = place
        }
        guard unsafe rename(file, database) == 0 else {
            throw .call("rename", file)
        }
        try noteDatabase()
        return kept
    }
}
