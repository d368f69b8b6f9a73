internal import LatchkeyStore

extension Replica {
    /// The entry that was sent and is not yet known to be in the log.
    struct InFlight: Sendable {
        let changes: [Waiting]
        private(set) var head: LogEntry.Head
        private(set) var bytes: [UInt8]
        var sequence: UInt64 { head.sequence }
        /// When it was sent first, and last.
        let since: UInt64
        private(set) var sent: UInt64
        private(set) var attemptCount = 1
        /// Whether it can have been lost: a server was changed, or has failed, since it was sent
        /// first.
        var hasMoved = false
        /// Whether the waiting clients were told that the outcome is unknown.
        private var isTold = false
        private let life: Life?

        /// Makes an entry that is sent now.
        init(_ changes: [Waiting], life: Life?, _ head: LogEntry.Head, at now: UInt64) {
            (self.changes, self.life, self.head) = (changes, life, head)
            bytes = LogEntryWriter(changes.lazy.map(\.encoded)).bytes(head)
            (since, sent) = (now, now)
        }

        /// The bytes of its changes.
        var changeByteCount: Int { changes.reduce(0) { $0 + $1.encoded.count } }

        /// How many times ``RepetitionTime`` passes before the next repetition.
        private var pauseCount: UInt64 { 1 << UInt64(min((attemptCount - 1) / 5, 2)) }

        func isDue(at now: UInt64, _ time: RepetitionTime) -> Bool {
            now.elapsed(since: sent) > pauseCount * time.nanoseconds
        }

        /// Whether the next repetition is to go to another server.
        ///
        /// A server that delivers entries, or says that there are none, is not cut off: only this
        /// entry takes longer, and each change of the server would make it start again. But a
        /// server with another fault must be left at some time.
        func isLost(freshAt time: UInt64) -> Bool { time <= sent || attemptCount % 5 == 0 }

        /// Notes that it is sent once more.
        mutating func repeats(at now: UInt64) {
            sent = now
            attemptCount += 1
        }

        /// Makes a new entry of the same changes, which is sent now.
        mutating func begins(anew head: LogEntry.Head, at now: UInt64) {
            self.head = head
            bytes = LogEntryWriter(changes.lazy.map(\.encoded)).bytes(head)
            (sent, attemptCount, hasMoved) = (now, 1, false)
        }

        /// Takes the waiting clients, once: afterwards there are none.
        mutating func takeThoseWhoWait() -> ThoseWhoWait {
            defer { isTold = true }
            return isTold
                ? ThoseWhoWait() : ThoseWhoWait(completions: changes.map(\.completion), life: life)
        }

        /// Its changes, unless the waiting clients were told that the outcome is unknown.
        var untoldChanges: [Waiting] { isTold ? [] : changes }
    }

    /// The callers that wait for the outcome of an entry.
    struct ThoseWhoWait: Sendable {
        var completions: [Completion] = []
        var life: Life?

        /// The entry was executed.
        func get(_ decisions: [Decision]) {
            for (completion, decision) in zip(completions, decisions) { completion(decision) }
            life?.completion(true)
        }

        /// The entry was not executed, or that is not known.
        func get(_ refusal: Refusal) {
            for completion in completions { completion(.failure(refusal)) }
            life?.completion(false)
        }
    }
}
