/// The reason why a data folder cannot be used.
package struct PersistenceFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure.
    package enum Code: Sendable, Hashable {
        /// Another process uses the folder.
        case inUse
        /// The files were made by a newer version.
        case newerFormat
        /// The files are not those of this program.
        case foreign
        /// A file does not have the content that was written to it.
        case damaged
        /// A system call failed.
        case inputOutput
        /// The caller stopped.
        case stopped
    }

    package let code: Code
    /// A message for the operator: which file, which place, and what to do.
    package let message: String
    /// SQLite's extended code or errno; 0 if neither is the cause.
    package let cause: Int32
    /// Whether a sync has failed: earlier writes can be lost.
    var isOfSync = false
    /// Whether a write found no space, and so nothing was written.
    var isFull: Bool { !isOfSync && DatabaseError.fullCodes.contains(cause) }

    /// The finding, without advice.
    let finding: String

    package init(_ code: Code, _ message: String, cause: Int32 = 0) {
        self.code = code
        self.message = message
        self.cause = cause
        finding = message
    }

    init(_ code: Code, _ advice: String, finding: String) {
        self.code = code
        message = "\(finding) \(advice)"
        cause = 0
        self.finding = finding
    }

    package var description: String { message }

    /// The advice for a damaged folder of a replica of a cluster.
    ///
    /// The folder is not needed: the other replicas have all of it. A recovered state is older than
    /// that of the cluster, and has no place in its log.
    package static let replicaAdvice =
        "Move the folder away: a replica with an empty folder takes the state of another one."

    /// The reason why a service does not start, for a replica of a cluster or another service.
    package func reason(isReplica: Bool) -> String {
        isReplica ? advising(Self.replicaAdvice).message : message
    }
}
