import Foundation

/// The files of a data folder.
struct DataFiles: Hashable {
    private static let names = ["latchkey.db", "latchkey.db-wal", "latchkey.lock"]

    /// Nil for one that is not there.
    var database: Data?
    var log: Data?
    var lock: Data?

    init(_ path: String) {
        let all = Self.names.map { try? Data(contentsOf: URL(filePath: path + "/" + $0)) }
        (database, log, lock) = (all[0], all[1], all[2])
    }

    /// Makes a folder of them.
    func write(to path: String) throws {
        try? FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (name, data) in zip(Self.names, [database, log, lock]) {
            try data?.write(to: URL(filePath: path + "/" + name))
        }
    }
}
