/// Watchers that wait for their turn, first come, first served.
struct WatchQueue {
    private var watchers: [Watcher] = []
    private var start = 0

    var isEmpty: Bool { start == watchers.count }

    /// The watcher with the next turn.
    var first: Watcher? { isEmpty ? nil : watchers[start] }

    mutating func append(_ watcher: Watcher) {
        watchers.append(watcher)
    }

    mutating func popFirst() -> Watcher? {
        guard let watcher = first else {
            return nil
        }
        start += 1
        if start * 2 >= watchers.count {
            watchers.removeFirst(start)
            start = 0
        }
        return watcher
    }
}
