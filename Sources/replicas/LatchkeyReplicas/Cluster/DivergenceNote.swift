internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyMachine

/// A file beside the data that says that they are not those of the other replicas.
///
/// Otherwise a restart would serve them, and give them to new replicas. The file stays with the
/// data, which must be moved away.
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
            ? "--data has a state that is not that of the other replicas. Move it away, and start "
                + "with an empty folder: the replica takes the state of another one."
            : reason
    }

    /// Makes the note.
    func write(_ reason: String, _ log: Log) {
        do {
            try WholeFile.write(Array((reason + "\n").utf8), to: path, .secret)
        } catch {
            log.write(.error, "divergence not noted", ["file": path, "reason": "\(error)"])
        }
    }
}
