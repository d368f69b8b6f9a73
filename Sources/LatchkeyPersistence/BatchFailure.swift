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
}
