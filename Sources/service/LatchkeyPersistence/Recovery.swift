internal import Glibc
internal import LatchkeyMachine
package import LatchkeyStore

/// The result of a recovery.
package struct RecoveryReport: Sendable {
    /// The result of the check before it.
    package var before = CheckReport()
    /// Messages about data that is lost, or would be.
    package var losses: [String] = []
    /// Whether files were changed.
    package var isDone = false
    /// The place of the damaged files now.
    package var keptPath: String?

    package init() {}
}

extension Persistence {
    /// Makes a damaged data folder usable, without its unreadable data.
    ///
    /// Without `acceptLoss`, it only reports the losses. The damaged files are kept in a folder of
    /// their own. Commits up to the first damaged row stay, and stored properties whose rows are
    /// whole. Revisions go on as after a restore, and history and notes are dropped: a client may
    /// have seen commits that are lost.
    package static func recover(
        _ path: String,
        acceptLoss: Bool,
        at now: Timestamp = StoreClock.system.now()
    ) throws(PersistenceFailure) -> RecoveryReport {
        let folder = try Folder(path, mayCreate: false)
        var report = RecoveryReport()
        let isRescued = Folder.byteCount(folder.rescued) != nil
        if (Folder.byteCount(folder.database) ?? 0) == 0, folder.hasDatabase || isRescued {
            return try finishRecovery(folder, acceptLoss: acceptLoss)
        }
        report.before = try check(folder)
        guard !report.before.damages.isEmpty else {
            return report
        }
        // Not the name that marks an unfinished recovery.
        let part = folder.rescued + ".part"
        if acceptLoss { Copy.remove(part) }
        defer { if acceptLoss { Copy.remove(part) } }
        report.losses = try Rescue(folder, into: acceptLoss ? part : nil, at: now).losses
        if isOfReplica(folder) {
            report.losses.append(
                "The folder is of a replica of a cluster, and loses its place in the log. "
                    + "\(PersistenceFailure.replicaAdvice)"
            )
        }
        guard acceptLoss else { return report }
        report.keptPath = try folder.replaceDatabase(by: part)
        report.isDone = true
        return report
    }

    /// Whether a position in a log can be found in a database that may be damaged.
    ///
    /// It can be in the database or in its own log. With a log of another time, SQLite may find
    /// anything: at worst the answer is wrong.
    private static func isOfReplica(_ folder: Folder) -> Bool {
        // SQLite would make a log if there is none.
        let hasLog = (Folder.byteCount(folder.log) ?? 0) > 0
        let ways: [Connection.Access] = hasLog ? [.readWithoutLog, .write] : [.readWithoutLog]
        return ways.contains { access in
            do throws(DatabaseError) {
                let connection = try Connection(folder.database, access)
                try OpenedDatabase.checkTables(connection)
                return try OpenedDatabase.hasPosition(connection)
            } catch {
                return false
            }
        }
    }

    /// Finishes a recovery that was interrupted after the damaged database was moved away.
    private static func finishRecovery(
        _ folder: Folder,
        acceptLoss: Bool
    ) throws(PersistenceFailure) -> RecoveryReport {
        guard Folder.byteCount(folder.rescued) != nil else { throw folder.missing }
        try Copy.expectWhole(
            folder.rescued,
            "Move it away, and put the former database back, which is in a folder damaged-…"
        )
        var report = RecoveryReport()
        report.losses = ["A recovery was interrupted. What it has rescued is whole."]
        guard acceptLoss else { return report }
        report.keptPath = try folder.replaceDatabase(by: folder.rescued)
        report.isDone = true
        return report
    }

    /// Copies the database of a data folder, which may be in use, into a new file, and checks it.
    ///
    /// The file gets its name when it is complete, and only its owner can read it.
    ///
    /// - Throws: Also if the copy is not correct; then there is no file.
    package static func backup(
        of path: String,
        into file: String
    ) throws(PersistenceFailure) -> CheckReport {
        let database = path + "/" + Folder.databaseName
        guard (Folder.byteCount(database) ?? 0) > 0 else {
            throw PersistenceFailure(.inputOutput, "'\(path)' has no database.")
        }
        do {
            let new = try WholeFile(file, .newSecret)
            guard let part = new.part else { throw FileFailure(file, reason: "it is no file") }
            let isUsed = try checkUnused(path)
            let isFrozen = Folder.unwritable(path) != nil
            let access: Connection.Access = !isFrozen ? .write : isUsed ? .read : .readFrozen
            let connection = try Connection(database, access)
            try OpenedDatabase.checkSchema(connection, database)
            var report = try Copy.make(connection, part)
            report.isInUse = isUsed
            try new.keep()
            return report
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, database)
        } catch let failure as FileFailure where failure.code == EEXIST {
            throw PersistenceFailure(.inputOutput, "'\(file)' exists. Choose another name.")
        } catch let failure as FileFailure {
            throw PersistenceFailure(.inputOutput, failure.unwritten)
        } catch let failure as PersistenceFailure {
            throw failure
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
    }

    /// Looks for damage of the log before SQLite drops everything after it, if no service uses the
    /// folder: a running service has looked.
    ///
    /// - Returns: Whether a service uses it.
    private static func checkUnused(_ path: String) throws(PersistenceFailure) -> Bool {
        let folder: Folder
        do throws(PersistenceFailure) {
            folder = try Folder(path, mayCreate: false)
        } catch {
            guard error.code == .inUse else {
                throw error
            }
            return true
        }
        try OpenedDatabase.checkFiles(folder, mayCreate: false)
        return false
    }

    /// Makes a new data folder from a backup of another replica, with its revisions, its history
    /// and its position in the log.
    ///
    /// The backup is moved into the folder, and gets an identity of its own.
    ///
    /// - Parameters:
    ///   - file: The backup.
    ///   - path: The folder.
    ///   - identity: The identity of the new data.
    ///   - objection: Given the position of the backup; returns a message if it must not be used,
    ///     else nil.
    /// - Throws: If the backup or the folder cannot be used, or there is an objection.
    package static func seed(
        _ file: String,
        into path: String,
        identity: Identity = Identity(),
        objection: ([UInt8]?) -> String? = { _ in nil }
    ) throws(PersistenceFailure) {
        try Copy.expectWhole(file, "Take the state of another replica.")
        do {
            let connection = try Connection(file)
            var meta = try Meta(connection)
            if let sentence = objection(try RowReader(connection, meta, file).position()) {
                throw PersistenceFailure(.inputOutput, sentence)
            }
            meta[.identity] = identity.number
            try meta.write([.identity], try Statement(connection, Meta.writing))
        } catch let failure as PersistenceFailure {
            throw failure
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, file)
        } catch {
            preconditionFailure("\(error) is of no known type.")
        }
        let folder = try Folder(path, mayCreate: true)
        try folder.replaceDatabase(by: file)
    }

    /// Makes a new data folder from a backup.
    ///
    /// Revisions go on as ``Revision/laterLife(of:at:)`` says, and history and notes are dropped.
    /// So no revision that a client remembers matches, also none of an earlier restore.
    package static func restore(
        _ file: String,
        into path: String,
        at now: Timestamp = StoreClock.system.now()
    ) throws(PersistenceFailure) -> CheckReport {
        let advice = "Restore another backup."
        try Copy.expectWhole(file, advice)
        let folder = try Folder(path, mayCreate: true)
        guard (Folder.byteCount(folder.database) ?? 0) == 0 else {
            throw PersistenceFailure(
                .inputOutput,
                "'\(path)' has a database. Choose a folder that is new or empty."
            )
        }
        guard !folder.hasDatabase else { throw folder.missing }
        do {
            let source = try Connection(file, .read)
            let reader = RowReader(source, try Meta(source), file)
            let part = folder.rescued + ".part"
            Copy.remove(part)
            defer { Copy.remove(part) }
            let rescue = try Rescue(reader, into: part, at: now)
            guard rescue.losses.isEmpty else {
                throw PersistenceFailure(.damaged, rescue.losses.joined(separator: " "))
            }
            try folder.replaceDatabase(by: part)
        } catch let error as DatabaseError {
            throw PersistenceFailure(error, file).advising(advice)
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
    /// Looks for damage; the messages give no advice, since it depends on the use of the copy.
    static func check(_ file: String) throws(PersistenceFailure) -> CheckReport {
        try OpenedDatabase.checkHeader(file)
        var report = CheckReport()
        report.byteCount = Folder.byteCount(file) ?? 0
        do {
            let connection = try Connection(file, .read)
            try OpenedDatabase.checkSchema(connection, file)
            let finding = try connection.text("pragma integrity_check(1)") ?? "no answer"
            if finding != "ok" {
                report.damages.append("'\(file)' is damaged: \(finding).")
            } else {
                report.read(RowReader(connection, try Meta(connection), file), advises: false)
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

    /// Copies a database as of one revision into a file, which is new or empty, and checks it.
    ///
    /// - Throws: Also if the copy is not correct. The caller removes the file.
    static func make(
        _ source: Connection,
        _ file: String
    ) throws(PersistenceFailure) -> CheckReport {
        do {
            let statement = try Statement(source, "vacuum into ?")
            try unsafe Array(Connection.absolute(file).utf8).withBytes {
                (name) throws(DatabaseError) in
                try unsafe statement.bindText(1, name)
                try statement.run()
            }
        } catch {
            throw PersistenceFailure(error, file).advising(damagedSource)
        }
        return try expectWhole(file, damagedSource)
    }

    /// Throws if a copy is damaged, with this advice.
    @discardableResult
    static func expectWhole(
        _ file: String,
        _ advice: String
    ) throws(PersistenceFailure) -> CheckReport {
        let report: CheckReport
        do throws(PersistenceFailure) {
            report = try check(file)
        } catch {
            throw error.advising(advice)
        }
        guard let damage = report.damages.first else { return report }
        throw PersistenceFailure(.damaged, advice, finding: damage)
    }

    /// The same, replacing a file.
    static func replace(
        _ file: String,
        _ source: Connection
    ) throws(PersistenceFailure) -> CheckReport {
        remove(file)
        let descriptor = unsafe open(file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .call("open", file) }
        close(descriptor)
        do throws(PersistenceFailure) {
            return try make(source, file)
        } catch {
            remove(file)
            throw error
        }
    }

    private static let damagedSource =
        "No backup was made. Stop the service, and look at its folder with 'latchkey check'."

    /// Gives a file the owner and the permissions of the one that it replaces.
    static func adopt(_ former: String, _ file: String) throws(PersistenceFailure) {
        var status = stat()
        guard unsafe stat(former, &status) == 0 else { throw .call("stat", former) }
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .call("open", file) }
        defer { close(descriptor) }
        guard WholeFile.adopt(status, descriptor) else { throw .call("fchown", file) }
    }

    static func sync(_ file: String) throws(PersistenceFailure) {
        try Folder.sync(file)
        try Folder.sync(FilePath.folder(of: file))
    }

    static func remove(_ file: String) {
        for suffix in ["", "-journal", "-wal", "-shm"] {
            unsafe unlink(file + suffix)
        }
    }
}
