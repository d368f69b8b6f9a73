internal import LatchkeyStore

/// A commit that waits to be written.
struct QueuedCommit: Sendable {
    let commit: Commit
    let note: CommitNote?
    let byteCount: Int
    /// The position to store with the commit, if commits are written in groups: it ends its group.
    var position: [UInt8]?

    /// How many rows of the table `changes` it makes.
    var rowCount: Int { commit.first == nil ? 0 : 1 + commit.others.count }

    init(_ commit: Commit, note: CommitNote?) {
        self.commit = commit
        self.note = note
        var byteCount = (note?.bytes?.count ?? 0) + (note?.author?.count ?? 0)
        if let first = commit.first {
            byteCount += first.rowByteCount
        }
        for effect in commit.others {
            byteCount += effect.rowByteCount
        }
        self.byteCount = byteCount
    }
}

extension Commit.Effect {
    fileprivate var rowByteCount: Int {
        unsafe nameBytes.count + (property.map { unsafe $0.valueBytes.count } ?? 0)
    }
}

/// Commits that arrive in any order, and leave in the order of their revisions.
///
/// In a queue of groups they leave in whole groups, each of which ends with a sealed commit.
struct CommitQueue: Sendable {
    /// The maximum of commits of a batch.
    static let batchCountMax = 4096
    /// A batch ends with the commit that exceeds so many bytes.
    static let batchByteCountMax = 4 << 20
    /// Or so many rows.
    static let batchRowCountMax = 8192

    /// The place of a commit is its revision modulo the length, a power of two.
    private var slots: [QueuedCommit?] = Array(repeating: nil, count: 256)
    /// The revision of the next commit that leaves.
    private(set) var next: Revision
    private(set) var count = 0
    private(set) var byteCount = 0
    /// The revision after the last commit that arrived without a gap.
    private(set) var end: Revision
    /// The revision after the last sealed one; nil without groups.
    private var sealed: Revision?

    init(after revision: Revision, isGrouped: Bool = false) {
        next = revision + 1
        end = revision + 1
        sealed = isGrouped ? revision + 1 : nil
    }

    /// The revision after the last commit that can leave now.
    private var ready: Revision { sealed ?? end }

    private func place(_ revision: Revision) -> Int {
        Int(truncatingIfNeeded: revision) & (slots.count - 1)
    }

    /// How many commits can leave now.
    var readyCount: UInt64 { ready - next }

    /// Whether the next commit is there.
    var isReady: Bool { ready > next }

    /// Whether a whole batch is there.
    var hasBatch: Bool {
        readyCount >= UInt64(Self.batchCountMax) || byteCount >= Self.batchByteCountMax && isReady
    }

    mutating func add(_ commit: QueuedCommit) {
        let revision = commit.commit.revision
        precondition(revision >= next, "A commit is appended once.")
        while revision - next >= UInt64(slots.count) {
            grow()
        }
        slots[place(revision)] = commit
        count += 1
        byteCount += commit.byteCount
        while end - next < UInt64(slots.count), slots[place(end)] != nil {
            end += 1
        }
    }

    /// Ends a group: all its commits are there, up to the one of the revision.
    ///
    /// - Returns: Whether a waiting commit has the position; else the last commit of the group is
    ///   written.
    mutating func seal(through revision: Revision, _ position: [UInt8]) -> Bool {
        precondition(revision < end && sealed != nil, "A group is sealed when it is whole.")
        guard revision >= next, slots[place(revision)] != nil else { return false }
        slots[place(revision)]?.position = position
        sealed = revision + 1
        return true
    }

    private mutating func grow() {
        let former = slots
        slots = Array(repeating: nil, count: former.count * 2)
        for case .some(let commit) in former {
            slots[place(commit.commit.revision)] = commit
        }
    }

    /// Takes the next batch.
    mutating func take(into batch: inout [QueuedCommit]) {
        var (left, rowsLeft) = (Self.batchByteCountMax, Self.batchRowCountMax)
        let isGrouped = sealed != nil
        while next < ready,
            batch.count < Self.batchCountMax && left > 0 && rowsLeft > 0
                || isGrouped && !batch.isEmpty && batch.last?.position == nil
        {
            guard let commit = slots[place(next)].take() else {
                preconditionFailure("What can leave is there.")
            }
            batch.append(commit)
            next += 1
            count -= 1
            byteCount -= commit.byteCount
            left -= commit.byteCount
            rowsLeft -= commit.rowCount
        }
    }

    /// Drops all commits: the next revision follows this one.
    mutating func drop(after revision: Revision) {
        self = CommitQueue(after: revision, isGrouped: sealed != nil)
    }
}
