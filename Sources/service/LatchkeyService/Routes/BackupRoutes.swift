internal import Dispatch
internal import Glibc
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyReplicas
internal import LatchkeyStrategies

/// The route of backups: the database of the service as of one revision, as a file of SQLite.
///
/// **Design.** The copy is made on a queue of its own, one after the other, because it takes
/// seconds. It is read from the files that the service has open, even if the folder no longer has
/// them. Its file is unlinked before it is sent, so that it goes with its descriptor. Until then it
/// has a fixed name: the next start removes the file that a killed process has left.
struct BackupRoutes: Sendable {
    /// The folder with the data; empty if the service keeps none.
    private let folder: String
    private let persistence: Persistence?
    private let exports: ExportQueue
    private let cluster: ClusterState?
    private let queue = DispatchQueue(label: "latchkey.backups", qos: .utility)

    init(
        folder: String,
        _ persistence: Persistence?,
        exports: ExportQueue,
        cluster: ClusterState?
    ) {
        self.folder = folder
        self.persistence = persistence
        self.exports = exports
        self.cluster = cluster
    }

    private var file: String { folder + "/latchkey-backup.db" }

    /// The path of a copy: in the folder of SQLite's temporary files, if the data folder is gone.
    private func file(of persistence: Persistence) -> String {
        guard persistence.isLost else { return file }
        let named = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
        let places = [named, "/var/tmp"].compactMap(\.self)
        let place = places.first { unsafe access($0, W_OK | X_OK) == 0 } ?? "/tmp"
        return "\(place)/latchkey-backup-\(getpid()).db"
    }

    func add(to table: inout RouteTable) {
        if !folder.isEmpty { unsafe unlink(file) }
        table.add(
            .get,
            "/v1/backup",
            .local,
            needs: .right(.backup),
            statuses: [200, 400, 404, 429, 500, 503]
        ) { request, _ throws(RequestFailure) in
            try request.noQuery()
            guard let persistence else { throw RequestFailure(.noBackup) }
            guard cluster?.isWrong != true else {
                throw RequestFailure.wrongState
            }
            let permit = try exports.enter(request.client)
            let presence = request.exchange.presence()
            queue.async { send(request, persistence, permit, presence) }
        }
    }

    private func send(
        _ request: ServiceRequest,
        _ persistence: Persistence,
        _ permit: ExportQueue.Permit,
        _ presence: Presence
    ) {
        guard !presence.isOver else { return request.answerInVain() }
        let reason: String
        do throws(PersistenceFailure) {
            let file = file(of: persistence)
            let report = try persistence.backup(into: file)
            let source = FileSource(file)
            // Before the answer begins: no client may see the end of the answer while the file has
            // its name.
            unsafe unlink(file)
            guard let source else { throw .call("open", file) }
            return exports.start(permit, source, for: request) { answer in
                answer.add("Content-Type", "application/vnd.sqlite3")
                answer.add("Latchkey-Revision", report.lastRevision)
            }
        } catch {
            reason = error.message
        }
        request.fail(.backupFailed, detail: reason)
    }
}

/// The bytes of a file.
private final class FileSource: PieceSource {
    private let descriptor: Int32

    init?(_ path: String) {
        descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if descriptor < 0 { return nil }
    }

    deinit { close(descriptor) }

    func append(to piece: inout [UInt8], atLeast byteCount: Int) -> Bool {
        let start = piece.count
        piece.append(contentsOf: repeatElement(0, count: byteCount))
        var end = start
        while end < piece.count {
            let count = unsafe piece.withUnsafeMutableBytes { bytes in
                unsafe read(descriptor, bytes.baseAddress?.advanced(by: end), bytes.count - end)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            end += count
        }
        let isWhole = end < piece.count
        piece.removeLast(piece.count - end)
        return !isWhole
    }
}
