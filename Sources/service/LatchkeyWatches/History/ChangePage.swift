internal import LatchkeyFrame
internal import LatchkeyJSON
internal import LatchkeyStore

/// A page of the journal's commits as JSON.
struct ChangePage: Sendable {
    enum Progress {
        /// The page is complete.
        case done
        /// The journal does not hold the commits.
        case gone
        /// There is more to read.
        case more
    }

    /// A page ends after the change that makes it longer than this.
    private static let byteCountMax = 4 * 1024 * 1024
    /// The length of an effect in the text, beside its name and value.
    private static let effectByteCount = 64

    private let latest: Revision
    private let limit: Int
    /// Whether the page also has effects that are not events, and all data that a replica keeps.
    private let isForReplica: Bool
    /// All commits up to this revision were looked at.
    private(set) var next: Revision
    /// Commits with an effect that matches, and those effects.
    private var changes: [(commit: Commit, effects: [Commit.Effect])] = []
    private var byteCount = 0

    init(after: Revision, latest: Revision, limit: Int, isForReplica: Bool = false) {
        self.latest = latest
        self.isForReplica = isForReplica
        self.limit = limit
        next = after
    }

    /// Reads a piece of the journal, and takes the commits with a matching effect.
    mutating func read(_ journal: Journal, _ filter: WatchFilter) -> Progress {
        let prefixes = filter.beginnings
        guard next <= latest, next >= journal.oldest(of: prefixes) else {
            return .gone
        }
        guard next < latest else {
            return .done
        }
        let reading = journal.commits(
            after: next,
            through: latest,
            countMax: Journal.pieceCommitCount,
            of: prefixes
        )
        guard case .commits(let commits, let end) = reading else {
            return .gone
        }
        var effectCount = 0
        for commit in commits {
            guard !isFull, effectCount < Journal.pieceEffectCount else {
                return isFull ? .done : .more
            }
            effectCount += commit.effects.count
            add(commit, filter)
            next = commit.revision
        }
        next = end
        return next < latest && !isFull ? .more : .done
    }

    private var isFull: Bool { changes.count >= limit || byteCount >= Self.byteCountMax }

    private mutating func add(_ commit: Commit, _ filter: WatchFilter) {
        let effects = isForReplica ? commit.effects : commit.effects.filter(filter.matches)
        guard !effects.isEmpty else { return }
        byteCount += effects.reduce(0) {
            unsafe $0 + Self.effectByteCount + $1.nameBytes.count
                + ($1.property?.valueBytes.count ?? 0)
        }
        changes.append((commit, effects))
    }

    var json: JSONWriter {
        var json = JSONWriter(refersToValues: true)
        json.object { page in
            page.member("revision", latest)
            page.array("changes") { list in
                for (commit, effects) in changes {
                    write(commit, effects, to: &list)
                }
            }
            page.member("next", next)
            page.member("hasMore", next < latest)
        }
        return json
    }

    private func write(
        _ commit: Commit,
        _ effects: [Commit.Effect],
        to json: inout JSONWriter
    ) {
        json.object { change in
            change.member("revision", commit.revision)
            change.member("time", commit.time.calendarText)
            if isForReplica {
                change.member("milliseconds", UInt64(max(0, commit.time.milliseconds)))
            }
            change.array("effects") { list in
                for effect in effects {
                    list.object { write(effect, of: commit, to: &$0) }
                }
            }
        }
    }

    private func write(
        _ effect: Commit.Effect,
        of commit: Commit,
        to json: inout JSONWriter
    ) {
        let isTouch = isForReplica && effect.reason == .touched
        json.member("type", isTouch ? "touch" : effect.kind.rawValue)
        unsafe json.member("name", utf8: effect.nameBytes)
        if let property = effect.property {
            json.member("created", property.created)
            json.member("value", valueOf: property)
            // The time that was left at the time of the commit, which stands beside it.
            json.ttl(until: property.expiry, at: commit.time)
            guard isForReplica else { return }
            json.member("revision", property.revision)
            if property.isMortal {
                json.member("expires", UInt64(max(0, property.expiry.milliseconds)))
            }
        } else if effect.kind == .delete {
            json.member("reason", effect.reason.text)
        }
    }
}
