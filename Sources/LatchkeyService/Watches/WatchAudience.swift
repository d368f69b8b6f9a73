internal import LatchkeyStore

/// The watchers that have got everything so far, and the waits for a name, by what they follow.
///
/// A commit meets only the groups of its names: an exact name is one look-up, and each length of a
/// prefix in use another.
struct WatchAudience {
    /// Everyone who follows the same properties; they share the bytes of their events.
    final class Group {
        let filter: WatchFilter
        var watchers: [Watcher] = []
        /// The waits for a change of the name.
        var waits: Set<UInt64> = []
        var batch = EventBatch(at: WatchPlace(revision: 0))

        init(_ filter: WatchFilter) {
            self.filter = filter
        }

        var isEmpty: Bool { watchers.isEmpty && waits.isEmpty }
    }

    private var names: [[UInt8]: Group] = [:]
    private var prefixes: [[UInt8]: Group] = [:]
    /// How many groups have a prefix of this length, in ascending order of the lengths.
    private var lengths: [(length: Int, count: Int)] = []

    mutating func add(_ watcher: Watcher) {
        let group = group(watcher.filter)
        watcher.index = group.watchers.count
        group.watchers.append(watcher)
    }

    mutating func remove(_ watcher: Watcher) {
        guard let index = watcher.index, let group = existing(watcher.filter) else { return }
        watcher.index = nil
        let last = group.watchers.removeLast()
        if last !== watcher {
            group.watchers[index] = last
            last.index = index
        }
        discardIfEmpty(group)
    }

    mutating func addWait(_ id: UInt64, for name: [UInt8]) {
        group(.name(name)).waits.insert(id)
    }

    mutating func removeWait(_ id: UInt64, for name: [UInt8]) {
        guard let group = existing(.name(name)) else { return }
        group.waits.remove(id)
        discardIfEmpty(group)
    }

    /// The groups that follow a name.
    func groups(_ name: UnsafeRawBufferPointer) -> [Group] {
        var found: [Group] = []
        if !names.isEmpty, let group = unsafe names[Array(name)] {
            found.append(group)
        }
        for (length, _) in lengths where length <= name.count {
            if let group = unsafe prefixes[Array(name[..<length])] {
                found.append(group)
            }
        }
        return found
    }

    private func existing(_ filter: WatchFilter) -> Group? {
        switch filter {
        case .name(let name): names[name]
        case .prefix(let prefix): prefixes[prefix]
        }
    }

    private mutating func group(_ filter: WatchFilter) -> Group {
        if let group = existing(filter) {
            return group
        }
        let group = Group(filter)
        switch filter {
        case .name(let name):
            names[name] = group
        case .prefix(let prefix):
            prefixes[prefix] = group
            count(prefix.count, by: 1)
        }
        return group
    }

    private mutating func discardIfEmpty(_ group: Group) {
        guard group.isEmpty else { return }
        switch group.filter {
        case .name(let name):
            names[name] = nil
        case .prefix(let prefix):
            prefixes[prefix] = nil
            count(prefix.count, by: -1)
        }
    }

    private mutating func count(_ length: Int, by step: Int) {
        let index = lengths.firstIndex { $0.length >= length } ?? lengths.count
        if index == lengths.count || lengths[index].length != length {
            lengths.insert((length, 0), at: index)
        }
        lengths[index].count += step
        if lengths[index].count == 0 {
            lengths.remove(at: index)
        }
    }
}
