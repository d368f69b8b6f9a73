internal import LatchkeyMetrics
internal import LatchkeyStore

/// Metrics of the watches and the journal, read at each scrape.
enum WatchMetrics {
    private static let watchers = MetricFamily(
        "latchkey_watchers",
        .gauge,
        help: "Watches and long polls now."
    )
    private static let commits = MetricFamily(
        "latchkey_journal_commits",
        .gauge,
        help: "Commits in the history."
    )
    private static let bytes = MetricFamily(
        "latchkey_journal_bytes",
        .gauge,
        help: "Bytes that only the history keeps (the limit is --history-bytes).",
        unit: "bytes"
    )

    static func register(journal: Journal, watches: WatchHub, in registry: MetricRegistry) {
        registry.collect([watchers, commits, bytes]) { writer in
            writer.begin(watchers)
            writer.sample(.none, UInt64(watches.watcherCount))
            let now = journal.usage
            writer.begin(commits)
            writer.sample(.none, UInt64(now.commitCount))
            writer.begin(bytes)
            writer.sample(.none, UInt64(now.byteCount))
        }
    }
}
