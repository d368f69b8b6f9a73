internal import LatchkeyStore

/// A search for a property as of a revision, piece by piece.
///
/// The first commit after the revision that changes the name has the property before it. Without
/// such a commit, the property is the current one.
struct PastValue: Sendable {
    enum Progress {
        /// The property; nil if it did not exist.
        case found(Property?)
        /// The journal does not hold the revision.
        case gone
        /// There is more to read.
        case more
    }

    let name: PropertyName
    private let revision: Revision
    private var current: Property?
    private var latest: Revision = 0
    /// All commits up to here were looked at.
    private var place: Revision

    init(_ name: PropertyName, asOf revision: Revision) {
        self.name = name
        self.revision = revision
        place = revision
    }

    /// The search from the property as it was found before `latest` was read, a revision that the
    /// journal has reached.
    func from(_ current: Property?, latest: Revision) -> Self {
        var search = self
        search.current = current
        search.latest = latest
        return search
    }

    /// Reads a piece of the journal.
    mutating func read(_ journal: Journal) -> Progress {
        let prefixes = unsafe [Array(name.bytes)]
        guard revision <= latest, place >= journal.oldest(of: prefixes) else {
            return .gone
        }
        if let current, current.revision <= revision {
            return .found(current)
        }
        guard place < latest else {
            return .found(current)
        }
        let reading = journal.commits(
            after: place,
            through: latest,
            countMax: Journal.pieceCommitCount,
            of: prefixes
        )
        guard case .commits(let commits, let end) = reading else {
            return .gone
        }
        var effectCount = 0
        for commit in commits {
            guard effectCount < Journal.pieceEffectCount else {
                return .more
            }
            effectCount += commit.effects.count
            place = commit.revision
            let effect = commit.effects.first { unsafe $0.nameBytes.elementsEqual(name.bytes) }
            if let effect {
                return .found(effect.former)
            }
        }
        place = end
        return .more
    }
}

extension Journal {
    /// How many commits a history reads at once.
    ///
    /// It limits how long a serving thread is used, and how long a writer waits.
    static let pieceCommitCount = 64
    /// A piece ends after the commit with which it has so many effects.
    static let pieceEffectCount = 1000
}
