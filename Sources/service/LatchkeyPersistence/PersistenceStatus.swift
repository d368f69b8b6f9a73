package import LatchkeyMetrics
package import LatchkeyStore

/// The state of the writing of commits.
package struct PersistenceStatus: Sendable, Hashable {
    package enum Health: Sendable, Hashable {
        case healthy
        /// Writes are refused; the text says why, and what to do.
        ///
        /// If `endsByItself`, writes are tried again each second.
        case failed(String, endsByItself: Bool)
    }

    package var health = Health.healthy
    /// The latest revision that is on the disk.
    package var durableRevision: Revision = 0
    /// The position that is on the disk, if there is one.
    package var position: [UInt8]?
    /// Commits that wait to be written.
    package var pendingCount = 0
    /// Time since the last sync that succeeded, or since the start.
    package var lastSyncAge = Duration.zero
    /// The length of the database's log.
    package var logByteCount = 0
    /// The length of the database.
    package var databaseByteCount = 0
    /// The revision of the table `stored`.
    package var storedRevision: Revision = 0
    /// How many rows the table `changes` has.
    package var changeCount = 0
    /// How much of a round of compaction is done, from 0 to 1; nil between rounds.
    package var compactionProgress: Double?

    package init() {}
}

/// Counts since the start.
///
/// The histograms and counters are handles, to be read at any time.
package struct PersistenceStatistics: Sendable {
    /// How long it took to write and sync a batch, in nanoseconds.
    package let batchDurations = Histogram(bounds: .batchDurations)
    /// How many commits a batch had.
    package let batchCommits = Histogram(bounds: .batchCommits)
    /// Commits that were written.
    package let commits = Counter()
    /// Bytes of names and values that were written.
    package let payloadBytes = Counter()
    /// Transactions that were synced, those without commits included.
    package let syncs = Counter()
    /// Batches that failed.
    package let failures = Counter()
    /// Rows that compaction copied.
    package let compactedRows = Counter()
    /// Rounds of compaction that ended.
    package let compactionRounds = Counter()
    /// Checkpoints that succeeded.
    package let checkpoints = Counter()

    package init() {}
}

extension HistogramBounds {
    /// In nanoseconds, from 50 microseconds to 10 seconds.
    package static let batchDurations = HistogramBounds.requestDurations

    package static let batchCommits = HistogramBounds(
        [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096],
        scale: .one
    )
}
