internal import Glibc
internal import LatchkeyMachine
internal import LatchkeyStore

/// Replaces the database of a folder by a whole one.
///
/// A process that is killed between two steps leaves the former database; or the new one; or none,
/// and the new one under a name of its own: then the folder is refused until a recovery finishes.
struct Replacement {
    enum Step: CaseIterable {
        /// Marks the new database as whole, and ready to take the place.
        case name
        // The database first: without its log, it would be taken for whole.
        case putAwayDatabase
        case putAwayLog
        /// The index of the log, and a journal, which would be rolled back into the new database.
        case putAwayRest
        /// Notes that no log is valid: the former one is until it is put away, and the new database
        /// has none.
        case noteNoLog
        case take
    }

    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    private let folder: Folder
    private let file: String
    /// The folder for the former files.
    private let place: String
    private let isFormerThere: Bool

    init(of folder: Folder, by file: String) {
        self.folder = folder
        self.file = file
        place = Self.place(in: folder)
        isFormerThere = Self.suffixes.contains { Folder.byteCount(folder.database + $0) != nil }
    }

    /// The folder of the former files; nil if there were none.
    var kept: String? { Folder.byteCount(place) == nil ? nil : place }

    func make(_ step: Step) throws(PersistenceFailure) {
        switch step {
        case .name:
            let formers = [folder.database, "\(place)/\(Folder.databaseName)"]
            if let former = formers.first(where: { Folder.byteCount($0) != nil }) {
                try Copy.adopt(former, file)
            }
            try Copy.sync(file)
            try rename(file, folder.rescued)
            if isFormerThere {
                guard unsafe mkdir(place, 0o700) == 0 || errno == EEXIST else {
                    throw .call("mkdir", place)
                }
                try folder.noteDatabase()
            }
        case .putAwayDatabase: try putAway("")
        case .putAwayLog: try putAway("-wal")
        case .putAwayRest:
            try putAway("-shm")
            try putAway("-journal")
        case .noteNoLog: try folder.notes.restart(nil)
        case .take: try rename(folder.rescued, folder.database)
        }
    }

    private func putAway(_ suffix: String) throws(PersistenceFailure) {
        guard Folder.byteCount(folder.database + suffix) != nil else { return }
        try rename(folder.database + suffix, "\(place)/\(Folder.databaseName)\(suffix)")
        try Folder.sync(place)
    }

    private func rename(_ former: String, _ name: String) throws(PersistenceFailure) {
        guard unsafe Glibc.rename(former, name) == 0 else { throw .call("rename", former) }
        try Folder.sync(folder.path)
    }

    /// The folder that an interrupted recovery has begun to fill, or a new one.
    private static func place(in folder: Folder) -> String {
        let names = SystemFile.names(in: folder.path).filter { $0.hasPrefix("damaged-") }
        if Folder.byteCount(folder.database) == nil, let name = names.max() {
            let place = "\(folder.path)/\(name)"
            let isFree = suffixes.allSatisfy { suffix in
                Folder.byteCount(folder.database + suffix) == nil
                    || Folder.byteCount("\(place)/\(Folder.databaseName)\(suffix)") == nil
            }
            if isFree { return place }
        }
        return "\(folder.path)/damaged-\(StoreClock.system.now().milliseconds)"
    }
}

extension Folder {
    /// Replaces the database of the folder by a whole one; returns the place of the former one.
    @discardableResult
    func replaceDatabase(by file: String) throws(PersistenceFailure) -> String? {
        let replacement = Replacement(of: self, by: file)
        for step in Replacement.Step.allCases { try replacement.make(step) }
        return replacement.kept
    }

    /// The reason why a folder that had a database cannot be used, and what to do.
    var missing: PersistenceFailure {
        let isRescued = Folder.byteCount(rescued) != nil
        return PersistenceFailure(
            .damaged,
            isRescued
                ? "Finish the recovery with 'latchkey recover \(path) --accept-loss'."
                : "Nothing in the folder can take its place: put the file back, or restore a "
                    + "backup into another folder.",
            finding: "'\(database)' is missing or empty"
                + (isRescued ? ": a recovery was interrupted." : ".")
        )
    }
}
