internal import LatchkeyStore

/// Numbers that tests change.
struct Tuning: Sendable {
    /// The file system of SQLite; nil for the standard one.
    var vfs: String?
    /// A round of compaction begins with so many rows, or a quarter of the stored ones.
    var roundCountMin = Int64(PersistenceSettings.standard.compactionCountMin)
    /// The maximum of rows of a round.
    var roundCountMax = 1 << 18
    /// A round ends with the name that exceeds so many bytes.
    var roundNameByteCountMax = 16 << 20
    /// A slice of compaction has so many rows while few commits wait.
    var sliceCount = 200
    /// A round begins with so many bytes of values, too, or a quarter of the database.
    var roundByteCountMin = 64 << 20
    /// Answers wait for a transaction that deletes compacted rows: if one takes longer, the next
    /// one deletes fewer; if it takes a shorter time, more.
    var removalNanoseconds: ClosedRange<UInt64> = 5_000_000...20_000_000
    /// A checkpoint beside the writer is made after so many frames.
    var checkpointFrameCount = (16 << 20) / LogScan.frameByteCount
    /// With more frames, the writer begins a new log.
    var restartFrameCount = (64 << 20) / LogScan.frameByteCount
    /// In `interval`, commits wait for the disk when so many others do.
    var earlyCountMax = 32_768
    var earlyByteCountMax = 8 << 20
    /// After the last batch, the next one waits at most so long for many commits.
    var gatherInterval = Duration.microseconds(500)
    /// The minimum time between two notes of the log's frames, except for the first ones, and when
    /// enough for a checkpoint were added.
    var noteInterval = Duration.seconds(60)
    /// In `interval`, so many revisions may be shown before they are on the disk; then the noted
    /// bound is raised.
    var unwrittenCountMax: Revision = 1 << 20
    /// The time between two looks at the paths of the open files.
    var lookInterval = Duration.seconds(1)
    /// The time until a batch that could not be written is tried again.
    var tryInterval = Duration.seconds(1)
    /// A write that takes longer hangs: the service is not ready meanwhile.
    var hangInterval = Duration.seconds(2)
    /// How much space the file system of an open folder has.
    var space: @Sendable (_ descriptor: Int32) -> DiskSpace? = { DiskSpace(of: $0) }
    /// The maximum of the reserve: a service has one, and a thousand folders of tests have none.
    var reserveByteCountMax = 0
}
