internal import Glibc
internal import LatchkeyStore
internal import LatchkeySync

/// A note outside the log: which log is valid, and how much of it is surely on the disk.
struct LogNote: Equatable {
    /// The salts of the log's header; 0 for none: the database has everything.
    var salts: UInt64 = 0
    /// At least so many frames of the log are on the disk; 0 also while it begins.
    var frameCount = 0
    /// Revisions up to this one may have been shown without being on the disk; 0 for none.
    var revisionBound: Revision = 0

    /// Whether a log can be the one that was noted.
    func agrees(with scan: LogScan) -> Bool {
        salts == 0
            ? scan.frameCount == 0
            : scan.salts == salts && scan.frameCount >= frameCount
    }
}

/// The notes about the log, in the file that locks a data folder.
///
/// SQLite treats a missing, empty or truncated log as a complete one. The notes tell such a log
/// from one that was never longer.
///
/// **Design.** There are two slots, in pages of their own, each with a number that grows and a
/// checksum. One of them is in force: the log on the disk agrees with it. The other one is written,
/// and synced, when something changes; a torn write does not affect the one in force.
///
/// A new log is noted before its header is written, and an empty one before the file is emptied
/// (``begins(_:)``). Until that is on the disk, too (``hasBegun()``), either of the two logs can be
/// there. So a later note without frames leaves the other one valid. After the first commit of the
/// log, its frames are noted (``count(_:)``): from then on only this log is valid.
///
/// The state is guarded, and changed by the thread that opens the folder, and then by the writer.
final class LogNotes: Sendable {
    /// The first bytes of each slot.
    ///
    /// Earlier versions wrote only this, at the begin of the file.
    private static let line = Array("This folder has a database of latchkey.\n".utf8)
    private static let slotByteCount = 4096
    private static let wordCount = 5

    private struct State {
        /// Nil if a slot has no note that can be read.
        var slots: [Numbered?] = [nil, nil]
        /// Whether a slot has bytes that are not a note.
        var isDamaged = false
        /// The slot of the note that agrees with the log on the disk.
        var inForce = 0
        /// A note about a log that is not surely on the disk is in the other slot.
        var isBeginning = false

        var other: Int { 1 - inForce }
        /// The slots with a note, the latest one first.
        var latest: [Int] {
            [0, 1].filter { slots[$0] != nil }
                .sorted { (slots[$0]?.number ?? 0) > (slots[$1]?.number ?? 0) }
        }
        var number: Int64 { latest.first.flatMap { slots[$0]?.number } ?? 0 }
        /// The note about the log as it is, or as it will be.
        var note: LogNote { slots[isBeginning ? other : inForce]?.note ?? LogNote() }
    }

    private struct Numbered {
        let number: Int64
        let note: LogNote
    }

    private let descriptor: Int32
    private let path: String
    private let state = Guarded(State())

    /// Reads the notes; the descriptor stays open as long as this lives.
    init(_ descriptor: Int32, _ path: String) throws(PersistenceFailure) {
        self.descriptor = descriptor
        self.path = path
        var state = State()
        for index in 0...1 {
            var bytes = [UInt8](repeating: 0, count: Self.slotByteCount)
            let place = off_t(index * Self.slotByteCount)
            // The folder itself stands in for the file if there is none, and none can be made.
            guard unsafe pread(descriptor, &bytes, bytes.count, place) >= 0 || errno == EISDIR
            else {
                throw .call("pread", path)
            }
            let numbers = bytes.dropFirst(Self.line.count).prefix(8 * Self.wordCount)
            // Of an earlier version, or not written yet.
            guard numbers.contains(where: { $0 != 0 }) else { continue }
            state.slots[index] = Self.decoded(Array(numbers))
            state.isDamaged = state.isDamaged || state.slots[index] == nil
        }
        state.inForce = state.latest.first ?? 0
        self.state.write { $0 = state }
    }

    /// Whether there has never been a note.
    var isEmpty: Bool { state.read { $0.latest.isEmpty && !$0.isDamaged } }

    /// Whether a slot has bytes that are not a note.
    var isDamaged: Bool { state.read { $0.isDamaged } }

    /// How many notes were written, those of earlier processes included.
    var number: Int64 { state.read { $0.number } }

    /// At least so many frames of the log are on the disk.
    var frameCount: Int { state.read { $0.note.frameCount } }

    /// Revisions up to this one may have been shown.
    var revisionBound: Revision {
        state.read { state in
            state.latest.first.flatMap { state.slots[$0]?.note.revisionBound } ?? 0
        }
    }

    /// Finds the note that a log agrees with.
    ///
    /// - Returns: The file at fault, and why the log is not the noted one; nil if it is.
    func finding(_ scan: LogScan, _ log: String) -> (file: String, text: String)? {
        state.write { state in
            guard let latest = state.latest.first, let last = state.slots[latest]?.note else {
                return state.isDamaged ? (path, "it does not say which log counts") : nil
            }
            // A log that was only beginning may not be on the disk.
            let slots = last.frameCount == 0 ? state.latest : [latest]
            let found = slots.first { state.slots[$0]?.note.agrees(with: scan) == true }
            guard let found else {
                return state.isDamaged
                    ? (path, "one of its two notes, and the other one is about another log")
                    : (log, Self.difference(last, scan))
            }
            state.inForce = found
            return nil
        }
    }

    /// Whether a log with these salts is one of the database.
    func knows(_ salts: UInt64) -> Bool {
        state.read { $0.slots.contains { $0?.note.salts == salts } }
    }

    private static func difference(_ note: LogNote, _ scan: LogScan) -> String {
        if scan.byteCount == 0 { return "it is missing or empty" }
        if scan.salts == 0 { return "its header is not valid" }
        guard scan.salts == note.salts else { return "it is not the log of this database" }
        return "it ends after frame \(scan.frameCount), and had at least \(note.frameCount)"
    }

    // MARK: Writing

    /// Notes that there is a database; the notes about its log stay.
    func mark() throws(PersistenceFailure) {
        try write(Self.line, at: 0)
    }

    /// Notes the log as it is, in both slots; nil for another database, which has had no log.
    ///
    /// The log, or its absence, is already on the disk.
    func restart(_ scan: LogScan?) throws(PersistenceFailure) {
        let count = scan?.frameCount ?? 0
        let salts = count > 0 ? scan?.salts ?? 0 : 0
        for _ in 0..<2 {
            try change { former in
                // The revisions of another database have another order.
                let bound = scan == nil ? 0 : former.revisionBound
                return LogNote(salts: salts, frameCount: count, revisionBound: bound)
            }
            state.write { ($0.inForce, $0.isBeginning) = ($0.other, false) }
        }
    }

    /// Writes the note that is in force into the other slot, too: then damage of one loses nothing.
    func settle() throws(PersistenceFailure) {
        guard !state.read({ $0.isBeginning }) else { return }
        try change { $0 }
        state.write { $0.inForce = $0.other }
    }

    /// Called before a log with these salts is written, or, with 0, before the log is emptied.
    func begins(_ salts: UInt64) throws(PersistenceFailure) {
        try change { LogNote(salts: salts, revisionBound: $0.revisionBound) }
        state.write { $0.isBeginning = true }
    }

    /// Called when the log that begins is on the disk.
    func hasBegun() {
        state.write { state in
            guard state.isBeginning else { return }
            (state.inForce, state.isBeginning) = (state.other, false)
        }
    }

    /// Whether so many frames are not noted as on the disk, and can be.
    func lacks(_ frameCount: Int) -> Bool {
        state.read {
            !$0.isBeginning && $0.note.salts != 0 && $0.note.frameCount < frameCount
        }
    }

    /// Whether the valid log has no noted frame.
    var isUncounted: Bool { state.read { $0.note.salts != 0 && $0.note.frameCount == 0 } }

    /// Notes that so many frames of the log are on the disk.
    func count(_ frameCount: Int) throws(PersistenceFailure) {
        try add { $0.frameCount = $0.salts == 0 ? 0 : max($0.frameCount, frameCount) }
    }

    /// Notes that revisions up to this one may be shown; 0: all shown ones are on the disk.
    ///
    /// - Returns: Whether that is noted. It is not while a log begins, which takes long after a
    ///   failed sync.
    @discardableResult
    func bound(_ revision: Revision) throws(PersistenceFailure) -> Bool {
        try add { $0.revisionBound = revision }
        return self.revisionBound == revision
    }

    /// Changes the note about a log that is on the disk.
    private func add(_ body: (inout LogNote) -> Void) throws(PersistenceFailure) {
        let (note, isBeginning) = state.read { ($0.note, $0.isBeginning) }
        var added = note
        body(&added)
        guard added != note, !isBeginning else { return }
        try change { _ in added }
        state.write { $0.inForce = $0.other }
    }

    /// Writes a note into the slot that is not in force, and syncs it.
    private func change(_ make: (LogNote) -> LogNote) throws(PersistenceFailure) {
        let (slot, numbered) = state.write { state in
            let numbered = Numbered(number: state.number + 1, note: make(state.note))
            // If that fails, it can be there, or be torn: it is not in force, and is written again.
            state.slots[state.other] = numbered
            return (state.other, numbered)
        }
        var bytes = [UInt8](repeating: 0, count: Self.slotByteCount)
        let content = Self.line + Self.encoded(numbered)
        bytes.replaceSubrange(..<content.count, with: content)
        try write(bytes, at: slot * Self.slotByteCount)
    }

    /// Writes in place: the file is the lock of the folder, too.
    private func write(_ bytes: [UInt8], at place: Int) throws(PersistenceFailure) {
        let count = unsafe pwrite(descriptor, bytes, bytes.count, off_t(place))
        guard count == bytes.count else {
            // On a full disk, less is written, without an error code.
            if count >= 0 { errno = ENOSPC }
            throw .call("pwrite", path)
        }
        guard fsync(descriptor) == 0 else {
            throw .sync(path)
        }
    }

    // MARK: The form of a note

    private static func words(_ numbered: Numbered) -> InlineArray<5, Int64> {
        let note = numbered.note
        return [
            numbered.number, Int64(bitPattern: note.salts), Int64(note.frameCount),
            Int64(bitPattern: note.revisionBound), 0,
        ]
    }

    private static func checksum(_ words: InlineArray<5, Int64>) -> Int64 {
        unsafe line.withBytes { unsafe RowChecksum.of(.logNote, words, $0) }
    }

    private static func encoded(_ numbered: Numbered) -> [UInt8] {
        var words = words(numbered)
        words[4] = checksum(words)
        return words.indices.flatMap { index in
            (0..<8).map { UInt8(truncatingIfNeeded: words[index] >> (8 * $0)) }
        }
    }

    private static func decoded(_ bytes: [UInt8]) -> Numbered? {
        func word(_ index: Int) -> Int64 {
            (0..<8).reduce(0) { $0 | Int64(bytes[8 * index + $1]) << (8 * $1) }
        }
        let words: InlineArray<5, Int64> = [word(0), word(1), word(2), word(3), 0]
        guard checksum(words) == word(4), word(0) > 0, word(0) < .max,
            let count = Int(exactly: word(2)), count >= 0,
            let bound = InputCheck.revision(word(3))
        else { return nil }
        return Numbered(
            number: word(0),
            note: LogNote(
                salts: UInt64(bitPattern: word(1)),
                frameCount: count,
                revisionBound: bound
            )
        )
    }
}
