internal import LatchkeyStore

/// The watchers that have got everything so far, and the waits, by what they follow.
///
/// A commit meets only the groups of its names: an exact name is one look-up, and each length of a
/// prefix in use another.
struct WatchAudience {
    /// All watchers and waits of the same properties; they share the bytes of their events.
    final class Group {
        let filter: WatchFilter
        var watchers: [Watcher] = []
        /// The waits for a change of one of them.
        var waits: Set<UInt64> = []
        var batch = EventBatch(at: WatchPlace(revision: 0))

        init(_ filter: WatchFilter) {
            self.filter = filter
        }

        var isEmpty: Bool { watchers.isEmpty && waits.isEmpty }
    }

    private var byFilter: [WatchFilter: Group] = [:]
    /// The groups of each part of their filters.
    private var names: [[UInt8]: [Group]] = [:]
    private var prefixes: [[UInt8]: [Group]] = [:]
    /// How many prefixes have a prefix of this length, in ascending order of the lengths.
    private var lengths: [(length: Int, count: Int)] = []

    mutating func add(_ watcher: Watcher) {
        let group = group(watcher.filter)
        watcher.index = group.watchers.count
        group.watchers.append(watcher)
    }

    mutating func remove(_ watcher: Watcher) {
        guard let index = watcher.index, let group = byFilter[watcher.filter] else { return }
        watcher.index = nil
        let last = group.watchers.removeLast()
        if last !== watcher {
            group.watchers[index] = last
            last.index = index
        }
        discardIfEmpty(group)
    }

    mutating func addWait(_ id: UInt64, for filter: WatchFilter) {
        group(filter).waits.insert(id)
    }

    mutating func removeWait(_ id: UInt64, for filter: WatchFilter) {
        guard let group = byFilter[filter] else { return }
        group.waits.remove(id)
        discardIfEmpty(group)
    }

    /// The groups that follow a name.
    func groups(_ name: UnsafeRawBufferPointer) -> [Group] {
        var found: [Group] = []
        if !names.isEmpty, let groups = unsafe names[Array(name)] {
            found += groups
        }
        for (length, _) in lengths where length <= name.count {
            if let groups = unsafe prefixes[Array(name[..<length])] {
                found += groups
            }
        }
        return found
    }

    private mutating func group(_ filter: WatchFilter) -> Group {
        if let group = byFilter[filter] {
            return group
        }
        let group = Group(filter)
        byFilter[filter] = group
        for part in filter.parts {
            switch part {
            case .name(let name):
                names[name, default: []].append(group)
            case .prefix(let prefix):
                if prefixes[prefix, default: []].isEmpty {
                    count(prefix.count, by: 1)
                }
                prefixes[prefix, default: []].append(group)
            }
        }
        return group
    }

    private mutating func discardIfEmpty(_ group: Group) {
        guard group.isEmpty else { return }
        byFilter[group.filter] = nil
        for part in group.filter.parts {
            switch part {
            case .name(let name):
                Self.remove(group, from: &names, name)
            case .prefix(let prefix):
                Self.remove(group, from: &prefixes, prefix)
                if prefixes[prefix] == nil {
                    count(prefix.count, by: -1)
                }
            }
        }
    }

    private static func remove(
        _ group: Group,
        from groups: inout [[UInt8]: [Group]],
        _ key: [UInt8]
    ) {
        groups[key]?.removeAll { $0 === group }
        if groups[key]?.isEmpty == true {
            groups[key] = nil
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
