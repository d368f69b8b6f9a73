internal import Foundation
internal import LatchkeyClient
internal import LatchkeyPersistence
internal import LatchkeyReplication

/// Takes the state of another replica, for one that has none.
struct ClusterSeed {
    private static let path = "/v1/backup"

    let settings: ClusterSettings
    let isCancelled: () -> Bool

    /// Downloads a backup and makes it the data of a folder.
    ///
    /// A replica can still have the state of another etcd, from before the restore.
    ///
    /// - Returns: The reason of a failure; nil after success.
    func take(
        from url: String,
        into folder: String,
        as identity: Persistence.Identity,
        of log: LogIdentity
    ) -> String? {
        let file = folder + "/seed.db"
        try? FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        // An earlier attempt can have left it.
        try? FileManager.default.removeItem(atPath: file)
        defer { try? FileManager.default.removeItem(atPath: file) }
        if let reason = download(url, to: file) { return reason }
        do throws(PersistenceFailure) {
            try Persistence.seed(file, into: folder, identity: identity) { position in
                guard let position else { return "\(url) has no state yet." }
                let other = LogPosition(decoding: position)?.log
                return other.map { log.canBe($0) } ?? true
                    ? nil : "\(url) has the state of another log."
            }
        } catch {
            return error.message
        }
        return nil
    }

    private func download(_ url: String, to file: String) -> String? {
        let client = settings.peers.client(of: url)
        guard
            FileManager.default.createFile(
                atPath: file,
                contents: nil,
                attributes: [.posixPermissions: 0o600]
            ),
            let handle = FileHandle(forWritingAtPath: file)
        else { return "\(file) cannot be written." }
        var request = ClientRequest(.get, Self.path)
        request.isStream = true
        var failure: String?
        do throws(ClientFailure) {
            let connection = try client.connection()
            let answer: ClientAnswer
            do throws(ConnectionFailure) {
                answer = try unsafe connection.stream(request, isCancelled: isCancelled) { bytes in
                    do {
                        try unsafe handle.write(contentsOf: Data(bytes))
                        return true
                    } catch {
                        failure = "\(file) cannot be written: \(error.localizedDescription)."
                        return false
                    }
                }
            } catch {
                return failure ?? "\(url): \(error.message)."
            }
            guard answer.isSuccess else {
                return "\(url) answers \(Self.path) with \(answer.status)."
            }
            return nil
        } catch {
            return error.message
        }
    }
}

extension LogIdentity {
    /// Whether this and another one can be of the same log, as far as both are known.
    fileprivate func canBe(_ other: Self) -> Bool {
        etcd == other.etcd
            && (created == nil || other.created == nil || created == other.created)
    }
}
