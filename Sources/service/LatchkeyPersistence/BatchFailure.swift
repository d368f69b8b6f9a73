internal import LatchkeyStore

/// Why a transaction was not made.
struct BatchFailure: Error {
    enum Consequence {
        /// Nothing of it is there, and it is tried again: the cause can pass.
        case held(Unavailability)
        /// The process ends: what the disk has now is known only once it is read again.
        ///
        /// A sync that has failed says nothing about a second one: the kernel may have dropped
        /// the pages, and would say that all is well.
        case fatal
    }

    let consequence: Consequence
    let message: String
    /// Whether the log may have a part of it.
    var mayHaveWritten = false

    /// What the failure of a transaction, or of a checkpoint, means.
    ///
    /// - Parameters:
    ///   - error: What was thrown.
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
        // It comes before the first write.
        if error.isBusy {
            return Self(consequence: .held(.failing), message: message)
        }
        return Self(consequence: .fatal, message: message)
    }
}
