internal import CSQLite

extension BatchWriter {
    /// Checks whether another program has written.
    ///
    /// "The integer values returned by two invocations of 'PRAGMA data_version' from the same
    /// connection will be different if changes were committed to the database by any other
    /// connection in the interim." (SQLite's manual)
    func checkVersion() throws {
        guard try version.step() else {
            throw DatabaseError(code: SQLITE_ERROR, text: "pragma data_version has no row")
        }
        let current = version.integer(0)
        version.reset()
        let isSame = try current == dataVersion || isVersionInDoubt && isAsWritten()
        (dataVersion, isVersionInDoubt) = isSame ? (current, false) : (dataVersion, false)
        guard isSame else {
            try? noteForeignLog()
            throw BatchFailure(
                consequence: .fatal,
                message: "Another program has written to '\(path)'. Restart the service, which "
                    + "checks the database."
            )
        }
    }

    /// Doubts the version, unless the database was busy: then another program may be writing.
    func doubtVersion(after error: any Error) {
        guard let error = error as? DatabaseError, error.primaryCode != SQLITE_BUSY else { return }
        isVersionInDoubt = true
    }

    /// Whether the database ends where this process has left it.
    private func isAsWritten() throws(DatabaseError) -> Bool {
        let (found, last) = (try Meta(connection), try OpenedDatabase.last(connection, meta))
        return MetaKey.allCases.allSatisfy { found[$0] == meta[$0] }
            && last.row == lastRow && last.revision <= lastRevision
    }
}
