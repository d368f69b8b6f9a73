internal import LatchkeySync
internal import Synchronization

/// The limits of the commits that a ``CommitHook`` has not released.
package struct UnreleasedLimits: Sendable, Hashable {
    /// The maximum of changes that are accepted and not released.
    package var commitCountMax: Int
    /// Beyond so many bytes of former and new properties no change is accepted.
    ///
    /// The last one that is accepted can exceed it.
    package var byteCountMax: Int

    package init(commitCountMax: Int = 65_536, byteCountMax: Int = 16 << 20) {
        self.commitCountMax = commitCountMax
        self.byteCountMax = byteCountMax
    }
}

/// The limit on the commits that are made and not released.
///
/// **Design.** A change takes a place before it is submitted. The place is given back when its
/// commit is released, or at once if it makes none. All is relaxed: the numbers order nothing.
final class UnreleasedCommits: Sendable {
    private let limits: UnreleasedLimits
    /// How many places are taken, times ``one``, and how many bytes they have.
    private let used = Atomic<UInt64>(0)

    private static let one: UInt64 = 1 << 40

    init(_ limits: UnreleasedLimits) {
        precondition(
            (1...1 << 20).contains(limits.commitCountMax),
            "1 to 1,048,576 commits can be unreleased."
        )
        self.limits = limits
    }

    /// How many changes have a place, and the bytes of their properties.
    var usage: (count: Int, byteCount: Int) {
        let word = used.load(ordering: .relaxed)
        return (Int(word / Self.one), Int(word % Self.one))
    }

    /// Takes a place for a change of so many bytes.
    func take(_ byteCount: Int) throws(BacklogFull) {
        let (former, word) = used.wrappingAdd(Self.one + UInt64(byteCount), ordering: .relaxed)
        guard Int(word / Self.one) <= limits.commitCountMax,
            Int(former % Self.one) < limits.byteCountMax
        else {
            giveBack(1, byteCount)
            throw BacklogFull()
        }
    }

    /// Gives back places, and the bytes of their changes.
    func giveBack(_ count: Int, _ byteCount: Int) {
        used.wrappingSubtract(
            UInt64(count) * Self.one + UInt64(byteCount),
            ordering: .relaxed
        )
    }

    /// Counts the bytes of a commit's properties in place of those of its change.
    func keep(_ commit: Commit, takenByteCount: Int) {
        used.wrappingAdd(
            UInt64(bitPattern: Int64(commit.propertyByteCount - takenByteCount)),
            ordering: .relaxed
        )
    }
}

extension Commit {
    /// The length of the names and values of all properties, before and after.
    var propertyByteCount: Int {
        func count(_ effect: Effect) -> Int {
            (effect.former?.byteCount ?? 0) + (effect.property?.byteCount ?? 0)
        }
        return others.reduce(first.map(count) ?? 0) { $0 + count($1) }
    }
}

extension Change {
    /// The length of the names and contents of all steps.
    var byteCount: Int {
        switch self {
        case .step(let step): step.byteCount
        case .transaction(let transaction):
            transaction.steps.reduce(0) { $0 + $1.byteCount }
                + transaction.otherwise.reduce(0) { $0 + $1.byteCount }
        }
    }
}

extension Change.Step {
    fileprivate var byteCount: Int {
        unsafe name.bytes.count + (action.content?.count ?? 0)
    }
}
