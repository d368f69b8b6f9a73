internal import Glibc
internal import LatchkeyMachine

/// A data folder: the paths in it, and the lock that one process has.
///
/// The lock is on a file of its own. It belongs to the open file (flock(2)), so closing other files
/// does not drop it, and it ends with the process. The file has notes once the database has been
/// made: then a database that is empty or missing is damage, and not a new folder. They also tell
/// which log is valid.
final class Folder: Sendable {
    let path: String
    private let descriptor: Int32
    /// The notes about the log, written to the same file.
    let notes: LogNotes

    static let databaseName = "latchkey.db"
    static let lockName = "latchkey.lock"

    var database: String { path + "/" + Self.databaseName }
    var log: String { database + "-wal" }
    var lock: String { path + "/" + Self.lockName }
    /// A complete database that is to replace the other one, left by an interrupted recovery.
    var rescued: String { path + "/rescued.db" }

    /// Makes the folder if it is missing, and locks it.
    init(_ path: String, mayCreate: Bool) throws(PersistenceFailure) {
        self.path = path
        if mayCreate {
            try Self.make(path)
        }
        let lock = path + "/" + Self.lockName
        let creates = mayCreate ? O_CREAT : 0
        var descriptor = unsafe open(lock, O_RDWR | creates | O_CLOEXEC, 0o600)
        if descriptor < 0, !mayCreate, [EROFS, EACCES, EPERM].contains(errno) {
            // A reader needs no more: flock(2) does not ask for the right to write.
            descriptor = unsafe open(lock, O_RDONLY | O_CLOEXEC)
        }
        if descriptor < 0, errno == ENOENT, Self.byteCount(path + "/" + Self.databaseName) != nil {
            // A copied folder without the file: an empty file says nothing of the log, either.
            descriptor = unsafe open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            if descriptor < 0, errno == EROFS {
                // It has no notes, and no service can run there.
                descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            }
        }
        guard descriptor >= 0 else {
            guard mayCreate || errno != ENOENT else {
                throw PersistenceFailure(
                    .inputOutput,
                    "'\(path)' is no data folder of latchkey: it has no file \(Self.databaseName)."
                )
            }
            throw .call("open", lock)
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            defer { close(descriptor) }
            guard errno == EWOULDBLOCK else {
                throw .call("flock", lock)
            }
            throw PersistenceFailure(
                .inUse,
                "Another process uses the data folder '\(path)'. Stop it, or choose another folder."
            )
        }
        do throws(PersistenceFailure) {
            notes = try LogNotes(descriptor, lock)
        } catch {
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
    }

    deinit {
        // A child process that is just being started can have the open file, too: then closing it
        // here would not end the lock.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The reason why a service cannot write all files of a folder; nil if it can.
    ///
    /// SQLite opens a file that it may not write as read-only, and reports nothing.
    static func unwritable(_ path: String) -> PersistenceFailure? {
        let database = path + "/" + databaseName
        let files = [path, database, database + "-wal", database + "-shm", path + "/" + lockName]
        for file in files {
            let right = file == path ? R_OK | W_OK | X_OK : R_OK | W_OK
            guard unsafe access(file, right) != 0 else { continue }
            let code = errno
            if code == ENOENT, file != path { continue }
            return PersistenceFailure(
                .inputOutput,
                "\(FileFailure(file, code).unwritten) A service writes all files of its data "
                    + "folder. Look at their owner and their permissions.",
                cause: code
            )
        }
        return nil
    }

    private static func make(_ path: String) throws(PersistenceFailure) {
        guard unsafe mkdir(path, 0o700) == 0 else {
            guard errno == EEXIST else {
                throw .call("mkdir", path)
            }
            return
        }
        try sync(parent(of: path))
    }

    /// The path of the folder that a folder is in.
    static func parent(of path: String) -> String {
        let parts = path.split(separator: "/").dropLast().joined(separator: "/")
        return path.hasPrefix("/") ? "/" + parts : parts.isEmpty ? "." : parts
    }

    /// Puts the names of a folder's files on the disk.
    static func sync(_ path: String) throws(PersistenceFailure) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .call("open", path)
        }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else {
            throw .sync(path)
        }
    }

    /// The length of a file; nil if it is missing.
    static func byteCount(_ path: String) -> Int? {
        var status = stat()
        return unsafe stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// Whether a database has been made in the folder.
    var hasDatabase: Bool { (Self.byteCount(lock) ?? 0) > 0 }

    /// Notes that the folder has a database, which is on the disk.
    func noteDatabase() throws(PersistenceFailure) {
        try notes.mark()
        try Self.sync(path)
    }

    /// Puts the log on the disk as it is, which a killed process may not have done.
    func syncLog() throws(PersistenceFailure) {
        guard Self.byteCount(log) != nil else { return }
        try Self.sync(log)
        try Self.sync(path)
    }
}

extension PersistenceFailure {
    /// A system call failed, and errno says why.
    package static func call(_ name: String, _ path: String) -> Self {
        let code = errno
        let reason = unsafe String(cString: strerror(code))
        return Self(.inputOutput, "\(name) of '\(path)' failed: \(reason).", cause: code)
    }

    /// A sync failed, and errno says why.
    static func sync(_ path: String) -> Self {
        var failure = call("fsync", path)
        failure.isOfSync = true
        return failure
    }

    /// A file of a data folder does not have the content that was written to it.
    static func damaged(_ file: String, _ finding: String, readable: UInt64?) -> Self {
        let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
        let place = readable.map { " Commits up to revision \($0) can be read." } ?? ""
        return Self(
            .damaged,
            "Restore a backup, or see what is lost with 'latchkey recover \(folder)' and go on "
                + "without it with 'latchkey recover \(folder) --accept-loss'.",
            finding: "'\(file)' is damaged: \(finding).\(place)"
        )
    }

    /// The same failure with advice for a user who has only that file; others stay as they are.
    package func advising(_ advice: String) -> Self {
        code == .damaged ? Self(.damaged, advice, finding: finding) : self
    }

    /// A call of SQLite failed.
    init(_ error: DatabaseError, _ file: String, readable: UInt64? = nil) {
        if error.isDamage {
            self = .damaged(file, error.text, readable: readable)
        } else {
            let reason =
                error.systemCode == 0
                ? error.text
                : "\(error.text) (\(unsafe String(cString: strerror(error.systemCode))))"
            self.init(
                .inputOutput,
                "SQLite cannot use '\(file)': \(reason).",
                cause: error.isFull ? ENOSPC : error.code
            )
        }
    }
}
