internal import LatchkeySync
internal import Synchronization

/// The bounds of what a ``CommitHook`` has not released.
package struct UnreleasedLimits: Sendable, Hashable {
    /// How many changes can be accepted and not released.
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

/// The commits that are made and not released, and the bound on them.
///
/// **Design.** A change takes a place before it is submitted. The place is given back when its
/// commit is released or taken back, or at once if it makes none. So there are never more
/// unreleased commits than `places`, and each has the place that follows from its revision. A
/// withdrawal finds all commits there, also those whose threads have not passed them on yet.
///
/// `places` has no lock. A place is written in the guarded section of its commit. It is emptied by
/// a withdrawal, which holds all tables, or by the release, whose thread has received the commit.
/// It is used again by a later revision: to have that, some change took the place that was given
/// back, and it was numbered before. `used` orders giving back (releasing) and taking (acquiring).
///
/// SAFETY: `@safe`, `@unchecked Sendable` because each place has one user at a time, as the design
/// says, every index is cut to the number of places, and the memory is freed with the object.
@safe
final class UnreleasedCommits: @unchecked Sendable {
    private struct Place {
        let commit: Commit
        let byteCount: Int
    }

    private let limits: UnreleasedLimits
    private let places: UnsafeMutableBufferPointer<Place?>
    /// How many places are taken, times ``one``, and how many bytes they have.
    private let used = Atomic<UInt64>(0)

    private static let one: UInt64 = 1 << 40

    init(_ limits: UnreleasedLimits) {
        precondition(
            (1...1 << 20).contains(limits.commitCountMax),
            "1 to 1,048,576 commits can be unreleased."
        )
        self.limits = limits
        var count = 1
        while count < limits.commitCountMax {
            count *= 2
        }
        unsafe places = .allocate(capacity: count)
        unsafe places.initialize(repeating: nil)
    }

    deinit {
        unsafe places.deinitialize()
        unsafe places.deallocate()
    }

    /// How many changes have a place, and the bytes of their properties.
    ///
    /// Relaxed: the numbers order nothing.
    var usage: (count: Int, byteCount: Int) {
        let word = used.load(ordering: .relaxed)
        return (Int(word / Self.one), Int(word % Self.one))
    }

    /// Takes a place for a change of so many bytes.
    ///
    /// Acquiring: pairs with ``giveBack(_:_:)``.
    func take(_ byteCount: Int) throws(BacklogFull) {
        let (former, word) = used.wrappingAdd(Self.one + UInt64(byteCount), ordering: .acquiring)
        guard Int(word / Self.one) <= limits.commitCountMax,
            Int(former % Self.one) < limits.byteCountMax
        else {
            giveBack(1, byteCount)
            throw BacklogFull()
        }
    }

    /// Gives back places, and the bytes of their changes.
    ///
    /// Releasing: who takes one of them finds it empty.
    func giveBack(_ count: Int, _ byteCount: Int) {
        used.wrappingSubtract(
            UInt64(count) * Self.one + UInt64(byteCount),
            ordering: .releasing
        )
    }

    /// Keeps a commit in its place, inside the guarded section that made it.
    ///
    /// The bytes are from now on those of its properties. Relaxed: only their number changes.
    func keep(_ commit: Commit, takenByteCount: Int) {
        let byteCount = commit.propertyByteCount
        used.wrappingAdd(
            UInt64(bitPattern: Int64(byteCount - takenByteCount)),
            ordering: .relaxed
        )
        let index = index(commit.revision)
        precondition(unsafe places[index] == nil, "A commit is released after those before it.")
        unsafe places[index] = Place(commit: commit, byteCount: byteCount)
    }

    /// Empties the place of a commit and gives it back.
    func takeBack(_ revision: Revision) -> Commit? {
        let place = unsafe places[index(revision)].take()
        if let place {
            giveBack(1, place.byteCount)
        }
        return place?.commit
    }

    /// Empties the places of the commits behind a revision, and gives them back.
    func release(after former: Revision, through revision: Revision) {
        var (count, byteCount) = (0, 0)
        var next = former
        while next < revision {
            next += 1
            if let place = unsafe places[index(next)].take() {
                count += 1
                byteCount += place.byteCount
            }
        }
        giveBack(count, byteCount)
    }

    private func index(_ revision: Revision) -> Int {
        unsafe Int(truncatingIfNeeded: revision) & (places.count - 1)
    }
}

extension Commit {
    /// The length of the names and values of all properties, before and after.
    fileprivate var propertyByteCount: Int {
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
