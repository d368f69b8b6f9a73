internal import Foundation

/// A file beside the data that says that they are not those of the other replicas.
///
/// Else a restart would serve them, and give them to new replicas. It goes with the data, which are
/// to be deleted.
struct DivergenceNote {
    private let path: String

    init(folder: String) {
        path = folder + "/diverged"
    }

    /// Why the data must not be used; nil if they may.
    var reason: String? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let reason = text.trimmingCharacters(in: .whitespacesAndNewlines)
        return reason.isEmpty
            ? "--data has a state that is not that of the other replicas. Delete it." : reason
    }

    /// Makes the note.
    ///
    /// It is not synced: replicas compare their states again soon after a loss of power.
    func write(_ reason: String, _ log: Log) {
        do {
            try Data((reason + "\n").utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            log.write(.error, "divergence not noted", ["file": path, "reason": "\(error)"])
        }
    }
}
