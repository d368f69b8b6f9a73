internal import LatchkeyStore

/// A search for a property as of a revision, piece by piece.
///
/// The property is what the first commit behind the revision that changes the name has found, or
/// the current one if there is no such commit.
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
    /// It bounds how long a thread that serves is used, and how long a writer waits.
    static let pieceCommitCount = 64
    /// A piece ends behind the commit that has so many effects together with those before it.
    static let pieceEffectCount = 1000
}
