extension Replica {
    /// The entry that was sent and is not yet known to be in the log.
    struct InFlight: Sendable {
        private let changes: LogEntryWriter
        private(set) var head: LogEntry.Head
        private(set) var bytes: [UInt8]
        var sequence: UInt64 { head.sequence }
        /// When it was sent first, and last.
        let since: UInt64
        var sent: UInt64
        var attemptCount = 1
        /// How many of the times between two repetitions pass before the next one.
        var patience: UInt64 { 1 << UInt64(min((attemptCount - 1) / 5, 2)) }
        /// Those who wait; empty once they were told that the outcome is unknown.
        var completions: [Completion]

        init(
            _ changes: LogEntryWriter,
            _ head: LogEntry.Head,
            at now: UInt64,
            _ completions: [Completion]
        ) {
            self.changes = changes
            self.head = head
            bytes = changes.bytes(head)
            (since, sent) = (now, now)
            self.completions = completions
        }

        /// The same changes as an entry of its own, which is sent now.
        mutating func begins(anew head: LogEntry.Head, at now: UInt64) {
            self.head = head
            bytes = changes.bytes(head)
            (sent, attemptCount) = (now, 1)
        }
    }
}
