internal import LatchkeyMetrics
internal import LatchkeyPersistence

/// Metrics of the files that keep the commits, read at each scrape.
enum DataMetrics {
    private static let batchDurations = MetricFamily(
        "latchkey_data_batch_duration_seconds",
        .histogram,
        help: "Time to write and sync the commits that waited together.",
        unit: "seconds"
    )
    private static let batchCommits = MetricFamily(
        "latchkey_data_batch_commits",
        .histogram,
        help: "Commits that were written and synced together."
    )

    private static func counter(_ name: String, _ help: String, unit: String? = nil) -> MetricFamily
    {
        MetricFamily("latchkey_data_\(name)_total", .counter, help: help, unit: unit)
    }

    private static func gauge(_ name: String, _ help: String, unit: String? = nil) -> MetricFamily {
        MetricFamily("latchkey_data_\(name)", .gauge, help: help, unit: unit)
    }

    static func register(_ persistence: Persistence, in registry: MetricRegistry) {
        let counts = persistence.statistics
        let counters: [(MetricFamily, Counter)] = [
            (counter("commits", "Commits written and synced."), counts.commits),
            (
                counter("payload_bytes", "Bytes of names and values written.", unit: "bytes"),
                counts.payloadBytes
            ),
            (counter("syncs", "Transactions synced."), counts.syncs),
            (counter("failures", "Batches that could not be written."), counts.failures),
            (
                counter("compacted_rows", "Properties brought forward by compaction."),
                counts.compactedRows
            ),
            (counter("checkpoints", "Checkpoints made."), counts.checkpoints),
        ]
        registry.collect([batchDurations, batchCommits] + counters.map(\.0)) { writer in
            writer.begin(batchDurations)
            writer.histogram(.none, .batchDurations, counts.batchDurations.reading)
            writer.begin(batchCommits)
            writer.histogram(.none, .batchCommits, counts.batchCommits.reading)
            for (family, counter) in counters {
                writer.begin(family)
                writer.sample(.none, counter.value)
            }
        }
        let health = gauge("healthy", "1 while commits can be written, 0 while writes are refused.")
        let pending = gauge("pending_commits", "Commits that wait to be written.")
        let age = gauge("last_sync_age_seconds", "Time since the last sync.", unit: "seconds")
        let log = gauge("log_bytes", "The length of the database's log.", unit: "bytes")
        let database = gauge("database_bytes", "The length of the database.", unit: "bytes")
        let changes = gauge("changes", "Changes that compaction has not brought forward.")
        registry.collect([health, pending, age, log, database, changes]) { writer in
            let now = persistence.status
            writer.begin(health)
            writer.sample(.none, now.health == .healthy ? UInt64(1) : 0)
            writer.begin(pending)
            writer.sample(.none, UInt64(now.pendingCount))
            writer.begin(age)
            writer.sample(.none, now.lastSyncAge / .seconds(1))
            writer.begin(log)
            writer.sample(.none, UInt64(now.logByteCount))
            writer.begin(database)
            writer.sample(.none, UInt64(now.databaseByteCount))
            writer.begin(changes)
            writer.sample(.none, UInt64(now.changeCount))
        }
    }
}
