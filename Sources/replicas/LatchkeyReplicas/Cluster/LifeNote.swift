internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyMachine

/// A file beside the data that says that a new life of the log must begin before they are served.
///
/// The data begin with the first entry of a log that can have been restored from a backup: clients
/// can remember the revisions of lost entries. The file is made before the data: if the process
/// ends before the new life begins, the next process begins it.
struct LifeNote {
    private let folder: String

    private var path: String { folder + "/new-life" }

    init(folder: String) {
        self.folder = folder
    }

    var isThere: Bool { FileManager.default.fileExists(atPath: path) }

    func write() throws(StartFailure) {
        do {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
            try WholeFile.write([], to: path, .secret)
        } catch {
            throw StartFailure(reason: "\(path) cannot be written: \(error).")
        }
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: path)
    }
}
