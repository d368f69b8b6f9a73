internal import CSQLite
internal import LatchkeyStore

/// Why a transaction was not made.
struct BatchFailure: Error {
    enum Consequence {
        /// It is not there, and can be tried again.
        case refused(Withdrawal)
        /// It can be there after a restart.
        case unknown
        /// The database must not be written any more.
        case fatal
    }

    let consequence: Consequence
    let message: String
    /// Whether the log may have a part of it.
    var mayHaveWritten = false

    /// What the failure of a transaction means.
    ///
    /// - Parameters:
    ///   - error: What was thrown.
    ///   - path: The path of the database.
    ///   - duringCommit: Whether the statement `commit` has failed.
    /// - Returns: The failure.
    static func of(_ error: any Error, _ path: String, duringCommit: Bool) -> Self {
        guard let error = error as? DatabaseError else {
            return error as? Self ?? Self(consequence: .fatal, message: "\(error)")
        }
        let message = PersistenceFailure(error, path).message
        if error.isDamage {
            return Self(consequence: .fatal, message: message)
        }
        if error.isFull {
            return Self(
                consequence: .refused(.full),
                message: message,
                mayHaveWritten: true
            )
        }
        // A write that failed otherwise may be on the disk, and what came behind it, too.
        // SQLITE_BUSY comes before the first write.
        let mayHaveWritten = error.primaryCode != SQLITE_BUSY
        return Self(
            consequence: duringCommit && mayHaveWritten ? .unknown : .refused(.unavailable),
            message: message,
            mayHaveWritten: mayHaveWritten
        )
    }
}
