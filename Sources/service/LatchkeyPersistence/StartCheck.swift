internal import CSQLite
internal import Glibc

extension Persistence {
    /// The version of SQLite that is loaded.
    package static var libraryVersion: String { unsafe String(cString: sqlite3_libversion()) }

    /// Checks that a service could start with a data folder, as far as possible without a change.
    ///
    /// The folder can be written, no process uses it, and it has a database of a format that this
    /// program reads, with a whole log. The rows are not read: see ``check(_:)``.
    ///
    /// - Parameters:
    ///   - path: The folder, which a start makes if it is missing.
    ///   - mayBeInUse: Whether another process may use it: then its log is not checked.
    /// - Throws: The reason why a start would fail.
    package static func checkStart(
        _ path: String,
        mayBeInUse: Bool
    ) throws(PersistenceFailure) {
        var status = stat()
        guard unsafe stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw .call("stat", path) }
            let parent = Folder.parent(of: path)
            guard unsafe access(parent, W_OK | X_OK) == 0 else { throw .call("mkdir", path) }
            return
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw PersistenceFailure(.inputOutput, "'\(path)' is no folder.")
        }
        if let failure = Folder.unwritable(path) { throw failure }
        let database = path + "/" + Folder.databaseName
        let isLocked = Folder.byteCount(path + "/" + Folder.lockName) != nil
        do throws(PersistenceFailure) {
            guard isLocked else {
                // A new folder, or the copy of a database without its lock.
                if Folder.byteCount(database) ?? 0 > 0 { try OpenedDatabase.checkHeader(database) }
                return
            }
            try OpenedDatabase.checkFiles(Folder(path, mayCreate: false), mayCreate: true)
        } catch {
            guard error.code == .inUse, mayBeInUse else { throw error }
            try OpenedDatabase.checkHeader(database)
        }
    }
}
