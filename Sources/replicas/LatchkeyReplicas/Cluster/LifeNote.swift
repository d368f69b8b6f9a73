internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyMachine

/// A file beside the data that says that a new life of the log must begin before they are served.
///
/// The data begin with the first entry of a log that can have been restored from a backup: what it
/// has lost had revisions that clients remember. The file is made before the data, so that a
/// process that ends before the new life begins is followed by one that begins it.
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
