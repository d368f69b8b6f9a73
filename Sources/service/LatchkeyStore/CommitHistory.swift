internal import CLatchkeySystem

/// The commits that a ``Journal`` holds, and what it knows of those that it has dropped.
///
/// **Design.** Commits that only remove what has expired stand in a queue of their own, with a
/// limit of their own: however many properties expire at once, the changes of clients stay. So
/// there can be holes after ``oldestKept``. A reader names the prefixes that concern it. Its
/// commits are gone if an expiry after its place was dropped that can concern it.
struct CommitHistory: Sendable {
    /// A commit in the history.
    ///
    /// The values that are needed when it is dropped stand beside the reference. The commit may
    /// have been unused for long: looking at it would wait for memory while the lock is held.
    private struct Entry: Sendable {
        let commit: Commit
        let revision: Revision
        /// The bytes that only the history keeps for it.
        var byteCount: Int
        /// The address of the first property that the commit replaced; 0 if there is none.
        let formerAddress: UInt

        init(_ commit: Commit) {
            self.commit = commit
            revision = commit.revision
            byteCount = commit.historyByteCount
            formerAddress = commit.first?.former?.address ?? 0
        }

        /// Prefetches the memory that is freed with the entry, and then used again.
        ///
        /// Both objects are usually longer than one line of the processor's cache.
        func prefetch() {
            let address = UInt(bitPattern: ObjectIdentifier(commit))
            for offset: UInt in [0, 64] {
                latchkey_system_prefetch(address + offset)
                latchkey_system_prefetch(formerAddress + offset)
            }
        }
    }

    /// Commits in the order of their revisions.
    private struct Queue: Sendable {
        private(set) var entries = RingBuffer<Entry>()
        private(set) var byteCount = 0

        mutating func append(_ entry: Entry) {
            entries.append(entry)
            byteCount += entry.byteCount
        }

        mutating func popFirst() -> Entry? {
            guard let entry = entries.popFirst() else {
                return nil
            }
            byteCount -= entry.byteCount
            // For the entry after the next one: the fetch takes as long as a request.
            if entries.count > 1 {
                entries[1].prefetch()
            }
            return entry
        }

        /// The place of the first commit after a revision.
        func index(after revision: Revision) -> Int {
            var (low, high) = (0, entries.count)
            while low < high {
                let middle = (low + high) / 2
                if entries[middle].revision > revision {
                    high = middle
                } else {
                    low = middle + 1
                }
            }
            return low
        }

        /// Counts a property that the commit of this revision made, if the commit is here.
        mutating func count(_ property: Property, of revision: Revision) {
            let index = index(after: revision - 1)
            guard index < entries.count, entries[index].revision == revision else {
                return
            }
            entries.change(index) { $0.byteCount += property.historyByteCount }
            byteCount += property.historyByteCount
        }
    }

    private let limits: HistoryLimits
    private var changes = Queue()
    private var expiries = Queue()
    private var lost = LostExpiries()
    private(set) var last: Revision
    /// The lowest revision after which all commits are held, except expiries.
    private(set) var oldestKept: Revision
    /// Files keep the commits after it, or after ``oldestKept`` if that is later: also the expiries
    /// that are dropped here, up to the bytes of the whole history.
    private var oldestOnDisk: Revision
    private var lostByteCount = 0

    init(_ limits: HistoryLimits, after revision: Revision) {
        self.limits = limits
        last = revision
        oldestKept = revision
        oldestOnDisk = revision
    }

    /// The same without commits, after a later revision.
    func restarted(after revision: Revision) -> Self { Self(limits, after: revision) }

    /// How many commits are held, and how many bytes only they keep.
    var usage: (commitCount: Int, byteCount: Int) {
        (
            changes.entries.count + expiries.entries.count,
            changes.byteCount + expiries.byteCount
        )
    }

    /// The lowest revision after which a next start needs the commits.
    var oldestStored: Revision { max(oldestKept, oldestOnDisk) }

    /// The lowest revision after which all commits are held that can concern names with one of
    /// these prefixes.
    func oldest(of prefixes: [[UInt8]]) -> Revision {
        lost.latest > oldestKept ? max(oldestKept, lost.latest(of: prefixes)) : oldestKept
    }

    /// Adds the next commit, and drops those for which there is no room.
    mutating func add(_ commit: Commit, drop: (Commit) -> Void) {
        last = commit.revision
        guard commit.isExpiry else {
            changes.append(Entry(commit))
            return dropChanges(drop)
        }
        expiries.append(Entry(commit))
        guard expiries.byteCount > limits.expiryByteCountMax else {
            return
        }
        while expiries.byteCount > limits.expiryByteCountMax, let oldest = expiries.popFirst() {
            lose(oldest)
            drop(oldest.commit)
        }
        dropChanges(drop)
    }

    private mutating func dropChanges(_ drop: (Commit) -> Void) {
        while changes.byteCount > limits.changeByteCountMax, let oldest = changes.popFirst() {
            oldestKept = oldest.revision
            drop(oldest.commit)
        }
        while let oldest = expiries.entries.first, oldest.revision <= oldestKept {
            _ = expiries.popFirst()
            drop(oldest.commit)
        }
    }

    /// Remembers the names that a dropped expiry concerns.
    ///
    /// An expired property stays in memory with the commit that made it, and now counts for that
    /// one.
    private mutating func lose(_ entry: Entry) {
        lostByteCount += entry.byteCount
        if lostByteCount > limits.byteCountMax {
            lostByteCount = 0
            oldestOnDisk = entry.revision
        }
        lost.forgetFolders(through: oldestKept)
        entry.commit.forEachEffect { effect in
            unsafe lost.add(effect.nameBytes, entry.revision)
            if let former = effect.former, former.revision > oldestKept {
                changes.count(former, of: former.revision)
            }
        }
    }

    /// The commits after a revision, up to another one.
    func commits(
        after revision: Revision,
        through end: Revision,
        countMax: Int,
        of prefixes: [[UInt8]]
    ) -> Journal.Reading {
        let end = min(end, last)
        guard revision < end else {
            return .commits([], through: revision)
        }
        guard revision >= oldestKept,
            revision >= lost.latest || revision >= lost.latest(of: prefixes)
        else {
            return .gone
        }
        var commits: [Commit] = []
        commits.reserveCapacity(min(countMax, Int(end - revision)))
        var change = changes.index(after: revision)
        var expiry = expiries.index(after: revision)
        while commits.count < countMax {
            let hasChange = change < changes.entries.count
            let hasExpiry = expiry < expiries.entries.count
            let isExpiry =
                hasExpiry
                && (!hasChange
                    || expiries.entries[expiry].revision < changes.entries[change].revision)
            guard hasChange || hasExpiry else {
                return .commits(commits, through: end)
            }
            let next = isExpiry ? expiries.entries[expiry] : changes.entries[change]
            guard next.revision <= end else {
                return .commits(commits, through: end)
            }
            commits.append(next.commit)
            if isExpiry {
                expiry += 1
            } else {
                change += 1
            }
        }
        return .commits(commits, through: commits.last?.revision ?? revision)
    }
}

/// The latest revision of each folder, among the expiries that a history has dropped.
///
/// The folder of a name ends with its first `/`, and is empty without one.
private struct LostExpiries: Sendable {
    /// With more folders, all expiries so far can concern any reader.
    private static let folderCountMax = 256
    private static let slash = UInt8(ascii: "/")

    private var folders: [[UInt8]: Revision] = [:]
    /// Expiries up to here can be of any name.
    private var unknown: Revision = 0
    /// The latest of all.
    private(set) var latest: Revision = 0

    /// The folder of the name that was added last: names that expire together stand in their order.
    private var folder: [UInt8] = []

    mutating func add(_ name: UnsafeRawBufferPointer, _ revision: Revision) {
        if unsafe latest != revision || !Self.isDirectly(name, in: folder) {
            unsafe folder = Self.folder(of: name)
            folders[folder] = revision
        }
        latest = revision
        if folders.count > Self.folderCountMax {
            folders = [:]
            unknown = revision
        }
    }

    /// If the folders are full, forgets those that concern no reader's place any more.
    mutating func forgetFolders(through revision: Revision) {
        if folders.count == Self.folderCountMax {
            folders = folders.filter { $0.value > revision }
        }
    }

    /// The latest expiry that can concern names with one of these prefixes; 0 if there is none.
    func latest(of prefixes: [[UInt8]]) -> Revision {
        var latest = unknown
        for prefix in prefixes {
            if prefix.contains(Self.slash) {
                let folder = unsafe prefix.withUnsafeBytes { unsafe Self.folder(of: $0) }
                latest = max(latest, folders[folder] ?? 0)
                continue
            }
            for (folder, revision) in folders
            where revision > latest && (folder.isEmpty || folder.starts(with: prefix)) {
                latest = revision
            }
        }
        return latest
    }

    private static func folder(of name: some Collection<UInt8>) -> [UInt8] {
        name.firstIndex(of: slash).map { Array(name[...$0]) } ?? []
    }

    /// Whether the folder is that of a name.
    private static func isDirectly(_ name: UnsafeRawBufferPointer, in folder: [UInt8]) -> Bool {
        folder.isEmpty ? unsafe !name.contains(slash) : unsafe name.starts(with: folder)
    }
}

extension Property {
    /// The bytes that a history keeps for the property, with its header.
    var historyByteCount: Int { 64 + byteCount }
}

extension Commit {
    /// Whether it only removes expired properties.
    fileprivate var isExpiry: Bool {
        first?.reason == .expired && others.allSatisfy { $0.reason == .expired }
    }

    fileprivate func forEachEffect(_ body: (Effect) -> Void) {
        first.map(body)
        others.forEach(body)
    }

    /// The bytes that a history keeps for the commit alone: it, its place, and the properties that
    /// it replaced.
    fileprivate var historyByteCount: Int {
        var count = 128
        forEachEffect { count += $0.former?.historyByteCount ?? 0 }
        return count + 24 * others.count
    }
}
