internal import LatchkeyStore

/// Why a transaction was not made.
struct BatchFailure: Error {
    enum Consequence {
        /// Nothing of it is written, and it is tried again: the cause can pass.
        case held(Unavailability)
        /// The process ends: the content of the disk is known only after it is read again.
        ///
        /// A second sync after a failed one proves nothing: the kernel may have dropped the pages,
        /// and would report success.
        case fatal
    }

    let consequence: Consequence
    let message: String
    /// Whether the log may have a part of it.
    var mayHaveWritten = false

    /// The consequence of a failed transaction or checkpoint.
    ///
    /// - Parameters:
    ///   - error: The error that was thrown.
    ///   - path: The path of the database.
    /// - Returns: The failure.
    static func of(_ error: any Error, _ path: String) -> Self {
        guard let error = error as? DatabaseError else {
            return error as? Self ?? Self(consequence: .fatal, message: "\(error)")
        }
        let message = PersistenceFailure(error, path).message
        if error.isFull {
            return Self(consequence: .held(.full), message: message, mayHaveWritten: true)
        }
        // This failure comes before the first write.
        if error.isBusy {
            return Self(consequence: .held(.failing), message: message)
        }
        return Self(consequence: .fatal, message: message)
    }
}
