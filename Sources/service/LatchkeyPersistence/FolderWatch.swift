internal import Glibc
internal import LatchkeyMachine
internal import LatchkeySync

/// Checks whether the open files are still those of the data folder.
///
/// Removed or replaced files take every write, and vanish with the process: no write fails, but all
/// later writes are lost. While the process lives, its open files have all of them.
///
/// **Design.** A thread of its own looks, since a look can hang; nothing waits for it. A folder is
/// gone only if a path has no file, or another one, three times in a row: between two steps of a
/// program that renames folders, or of a network file system, a path can be missing. An error of
/// the look itself says nothing about the files.
final class FolderWatch: Sendable {
    /// The result of a look.
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
    /// The number of looks between two log lines.
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

/// The conclusion from the looks at a folder.
struct FolderLooks {
    private var goneCount = 0
    private var isUnknown = false
    /// The reason why the folder is gone, permanently; nil while it is not.
    private(set) var loss: String?
    private var looksSinceLine = 0

    /// Takes the next finding; returns the line to log, if there is one.
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

    /// Marks the folder as gone; returns the message.
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
