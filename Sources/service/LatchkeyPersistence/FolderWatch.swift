internal import Glibc
internal import LatchkeyMachine
internal import LatchkeySync

/// Looks whether the files that are open are still those of the data folder.
///
/// Files that were removed or replaced take every write, and go with the process: all that is
/// written then is lost, and no write fails. While the process lives, its open files have all of
/// it.
///
/// **Design.** A thread of its own looks, since a look can hang; nothing waits for it. Only a path
/// that has no file, or another one, says that a folder is gone, three times in a row: between two
/// steps of a program that renames folders, or of a network file system, a path can be missing. An
/// error of the look itself says nothing about the files.
final class FolderWatch: Sendable {
    /// What a look can find.
    enum Finding: Sendable, Hashable {
        case whole
        /// A path with no file, or another one.
        case gone(String)
        /// The look itself has failed.
        case unknown(String)
    }

    /// A file, whatever its name.
    private struct Identity: Sendable, Equatable {
        let device: dev_t
        let number: ino_t
    }

    static let looksUntilGone = 3
    /// So many looks after a log line, there is the next one.
    static let looksBetweenLines = 60

    private let files: [(path: String, identity: Identity)]

    /// The files as they are now: those that were opened.
    init(_ folder: Folder) throws(PersistenceFailure) {
        var files: [(path: String, identity: Identity)] = []
        for path in [folder.database, folder.log, folder.lock] {
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { throw .call("stat", path) }
            files.append((path, Identity(device: status.st_dev, number: status.st_ino)))
        }
        self.files = files
    }

    func look() -> Finding {
        var finding = Finding.whole
        for (path, identity) in files {
            var status = stat()
            if unsafe stat(path, &status) != 0 {
                guard errno == ENOENT || errno == ENOTDIR else {
                    return .unknown(FileFailure(path, errno).unread)
                }
                finding = .gone("'\(path)' was removed or moved away")
            } else if identity != Identity(device: status.st_dev, number: status.st_ino) {
                finding = .gone("'\(path)' is another file than the one that is open")
            }
        }
        return finding
    }
}

/// What the looks at a folder come to.
struct FolderLooks {
    private var goneCount = 0
    private var isUnknown = false
    /// Why the folder is gone, permanently; nil while it is not.
    private(set) var loss: String?
    private var looksSinceLine = 0

    /// Takes the next finding; returns what is to be logged.
    mutating func take(_ finding: FolderWatch.Finding) -> (isError: Bool, event: String, String)? {
        if let loss {
            looksSinceLine += 1
            guard looksSinceLine >= FolderWatch.looksBetweenLines else { return nil }
            looksSinceLine = 0
            return (true, "data-folder-gone", loss)
        }
        switch finding {
        case .whole:
            (goneCount, isUnknown) = (0, false)
        case .unknown(let reason):
            goneCount = 0
            guard !isUnknown else { return nil }
            isUnknown = true
            return (false, "data-folder-not-seen", reason)
        case .gone(let reason):
            isUnknown = false
            goneCount += 1
            guard goneCount >= FolderWatch.looksUntilGone else { return nil }
            return (true, "data-folder-gone", lose(reason))
        }
        return nil
    }

    /// Takes the folder for gone; returns the sentence that says so.
    @discardableResult
    mutating func lose(_ reason: String) -> String {
        let sentence =
            reason
            + ". The open files are the last copy: no change is taken any more. Save it with "
            + "'GET /v1/backup' or 'GET /v1/export' before the service ends."
        loss = sentence
        return sentence
    }
}
