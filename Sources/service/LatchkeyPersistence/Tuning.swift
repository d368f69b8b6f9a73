internal import LatchkeyStore

/// Numbers that tests change.
struct Tuning: Sendable {
    /// The file system of SQLite; nil for the standard one.
    var vfs: String?
    /// A round of compaction begins with so many rows, or a quarter of the stored ones.
    var roundCountMin = Int64(PersistenceSettings.standard.compactionCountMin)
    /// It has at most so many rows.
    var roundCountMax = 1 << 18
    /// It ends with the name that brings it beyond so many bytes.
    var roundNameByteCountMax = 16 << 20
    /// A slice of compaction has so many rows where few commits wait.
    var sliceCount = 200
    /// A round begins with so many bytes of values, too, or a quarter of the database.
    var roundByteCountMin = 64 << 20
    /// Answers wait for a transaction that deletes compacted rows: if one takes longer, the next
    /// one deletes fewer; if it takes a shorter time, more.
    var removalNanoseconds: ClosedRange<UInt64> = 5_000_000...20_000_000
    /// A checkpoint beside the writer is made each so many frames.
    var checkpointFrameCount = (16 << 20) / LogScan.frameByteCount
    /// With more frames, the writer begins the log anew.
    var restartFrameCount = (64 << 20) / LogScan.frameByteCount
    /// In `interval`, commits wait for the disk when so many others do.
    var earlyCountMax = 32_768
    var earlyByteCountMax = 8 << 20
    /// Behind the last batch, the next one waits at most so long for many commits.
    var gatherInterval = Duration.microseconds(500)
    /// The frames of the log are noted at most so often, but for the first ones, and when as many
    /// were added as make a checkpoint.
    var noteInterval = Duration.seconds(60)
    /// In `interval`, so many revisions may be shown before they are on the disk; then what is
    /// noted of them is brought forward.
    var unwrittenCountMax: Revision = 1 << 20
    /// How often the paths of the open files are looked at.
    var lookInterval = Duration.seconds(1)
    /// How often a batch that could not be written is tried again.
    var tryInterval = Duration.seconds(1)
    /// A write that takes longer hangs: the service is not ready meanwhile.
    var hangInterval = Duration.seconds(2)
    /// How much space the file system of an open folder has.
    var space: @Sendable (_ descriptor: Int32) -> DiskSpace? = { DiskSpace(of: $0) }
    /// The reserve is no larger: a service has one, and a thousand folders of tests have none.
    var reserveByteCountMax = 0
}
