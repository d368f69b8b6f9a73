internal import Glibc

/// How much space a file system has.
struct DiskSpace: Sendable {
    /// Free for all users but the superuser.
    var freeByteCount: Int
    var byteCount: Int
}

extension DiskSpace {
    /// Asks the file system of an open folder; nil if it does not say.
    init?(of descriptor: Int32) {
        var status = statvfs()
        guard unsafe fstatvfs(descriptor, &status) == 0, status.f_blocks > 0 else { return nil }
        freeByteCount = Int(clamping: UInt64(status.f_bavail) * UInt64(status.f_frsize))
        byteCount = Int(clamping: UInt64(status.f_blocks) * UInt64(status.f_frsize))
    }
}

/// Whether the disk of a data folder has room for more changes, and the reserve that lets the
/// folder get smaller if it has none.
///
/// Room is counted in batches. If less than eight are free, the log is copied into the database.
/// The disk is low with less than four, free pages within the database included, or with less than
/// one for the log. Then the reserve, a file without content, is removed, so that deletions and
/// compaction have room. There is room again with twice as much, and the bytes of the reserve.
///
/// **Design.** The writing thread uses it, and before that thread starts, the opening one. All
/// files are found from the open folder, which can be moved away.
///
/// SAFETY: `@unchecked Sendable` because one thread uses it at a time.
final class DiskRoom: @unchecked Sendable {
    static let reserveName = "latchkey.reserve"
    static let reserveByteCountMax = 64 << 20
    /// A copy that is to replace the database: see ``Persistence/compact(_:)``.
    static let compactedName = "compacted.db"

    /// The longest batch, or a part of a small disk.
    let batchByteCount: Int
    /// A shorter log is not copied to make room.
    var logByteCount: Int { batchByteCount / 4 }
    private(set) var isLow = false
    /// The space of the file system, at the last measure; nil if it does not say.
    private(set) var space: DiskSpace?
    /// After a failure, no reserve is made until then.
    private var makesReserveAfter = ContinuousClock.now
    /// The wanted size of the reserve; nil until it is made the first time.
    private var reserveByteCount: Int?
    private let descriptor: Int32
    private let tuning: Tuning

    /// Removes the copy of a killed compaction, and the reserve if the disk is low: then SQLite can
    /// open the database.
    init(_ folder: Folder, _ tuning: Tuning) throws(PersistenceFailure) {
        descriptor = unsafe open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .call("open", folder.path) }
        self.tuning = tuning
        unsafe unlinkat(descriptor, Self.compactedName, 0)
        space = tuning.space(descriptor)
        batchByteCount = min(CommitQueue.batchByteCountMax, (space?.byteCount ?? .max) / 32)
        if isBelow(4) { removeReserve() }
    }

    deinit {
        close(descriptor)
    }

    var isTight: Bool { isBelow(64) }

    /// Whether the log has to give back space.
    var needsLog: Bool { isBelow(8) }

    /// Whether fewer batches were free at the last measure, with `byteCount` added.
    private func isBelow(_ batchCount: Int, _ byteCount: Int = 0) -> Bool {
        space.map { $0.freeByteCount + byteCount < batchCount * batchByteCount } ?? false
    }

    /// Measures, and returns whether so little is free that it is measured each second.
    func isTightNow() -> Bool {
        space = tuning.space(descriptor)
        return isTight
    }

    /// Subtracts the bytes that a checkpoint will take from the free space.
    func owe(_ byteCount: Int) {
        space?.freeByteCount -= max(0, byteCount)
    }

    /// Decides by the last measure, and gives up the reserve or makes it.
    ///
    /// - Parameter sparedByteCount: The free bytes within the database, whose file does not get
    ///   shorter.
    func settle(sparedByteCount: Int) {
        guard !isBelow(1), !isBelow(4, sparedByteCount) else {
            giveUp()
            return
        }
        let hasReserve = hasReserve
        guard !isLow || hasRoom(sparedByteCount: sparedByteCount) else { return }
        isLow = false
        if !hasReserve { makeReserve() }
    }

    /// Whether there would be room with so much free space within the database.
    func hasRoom(sparedByteCount: Int) -> Bool {
        let missingByteCount = hasReserve ? 0 : reserveByteCount ?? 0
        return !isBelow(2) && !isBelow(8, sparedByteCount - missingByteCount)
    }

    /// Removes the reserve; returns whether that made room.
    @discardableResult
    func giveUp() -> Bool {
        isLow = true
        return removeReserve()
    }

    @discardableResult
    private func removeReserve() -> Bool {
        guard let size = reserveSize else { return false }
        reserveByteCount = reserveByteCount ?? size
        return unsafe unlinkat(descriptor, Self.reserveName, 0) == 0
    }

    private var hasReserve: Bool { reserveSize != nil }

    private var reserveSize: Int? {
        var status = stat()
        let result = unsafe fstatat(descriptor, Self.reserveName, &status, AT_SYMLINK_NOFOLLOW)
        return result == 0 ? Int(status.st_size) : nil
    }

    /// Takes at most a tenth of the space that is free at first, and leaves eight batches.
    private func makeReserve() {
        guard ContinuousClock.now >= makesReserveAfter, let free = space?.freeByteCount else {
            return
        }
        let wanted = reserveByteCount ?? min(tuning.reserveByteCountMax, free / 10)
        reserveByteCount = wanted
        let count = min(wanted, free - 8 * batchByteCount)
        guard count > 0 else { return }
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let file = unsafe openat(descriptor, Self.reserveName, flags, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        guard posix_fallocate(file, 0, count) != 0 else { return }
        // A quota can be smaller than the disk, or the file system can lack this call.
        unsafe unlinkat(descriptor, Self.reserveName, 0)
        makesReserveAfter = .now + .seconds(60)
    }
}
