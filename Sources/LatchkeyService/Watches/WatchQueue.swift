/// Watchers that wait for their turn, first come, first served.
struct WatchQueue {
    private var watchers: [Watcher] = []
    private var first = 0

    var isEmpty: Bool { first == watchers.count }
    var count: Int { watchers.count - first }

    mutating func append(_ watcher: Watcher) {
        watchers.append(watcher)
    }

    mutating func popFirst() -> Watcher? {
        guard first < watchers.count else {
            return nil
        }
        defer {
            first += 1
            if first * 2 >= watchers.count {
                watchers.removeFirst(first)
                first = 0
            }
        }
        return watchers[first]
    }
}
