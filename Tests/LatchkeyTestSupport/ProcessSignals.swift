import Foundation

/// Sends a signal to a process.
///
/// SIGSTOP waits until all threads have stopped, for as long as `Patience` says: kill(2) returns
/// before, and a thread that still runs answers requests meanwhile.
public func sendSignal(_ signal: Int32, to process: Int32) {
    kill(process, signal)
    guard signal == SIGSTOP else { return }
    let folder = "/proc/\(process)/task"
    // A process that stops tells only its parent, by a status that Foundation takes.
    try? eventually("process \(process) has stopped") {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return threads.allSatisfy { thread in
            let state = try? String(contentsOfFile: "\(folder)/\(thread)/stat", encoding: .utf8)
            // The state comes after the name, which is in parentheses (proc(5)).
            return state?.split(separator: ")").last?.hasPrefix(" T") ?? true
        }
    }
}
