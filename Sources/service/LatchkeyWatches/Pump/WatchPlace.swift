internal import LatchkeyStore

/// A place between two effects of a store's journal: the cursor of a watcher.
///
/// All commits up to `revision` lie before it, and this many effects of the next one, counted
/// whether they match the watcher's filter or not.
struct WatchPlace: Hashable, Comparable, Sendable {
    var revision: Revision
    var effectCount = 0

    static func < (one: WatchPlace, other: WatchPlace) -> Bool {
        (one.revision, one.effectCount) < (other.revision, other.effectCount)
    }

    /// The latest revision that lies before the place, at least in part.
    var latest: Revision { effectCount == 0 ? revision : revision + 1 }
}

extension WatchPlace {
    private static let digitCountMax = 19

    /// Reads `R`, which is after commit R, or `R.K`, which is after K effects of commit R.
    init?(_ text: some StringProtocol) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part -> UInt64? in
            guard (1...Self.digitCountMax).contains(part.count),
                part.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
            else { return nil }
            return UInt64(String(decoding: part, as: UTF8.self))
        }
        guard numbers.count == parts.count else {
            return nil
        }
        switch numbers.count {
        case 1:
            self.init(revision: numbers[0])
        case 2 where numbers[0] > 0 && numbers[1] < UInt64(Int32.max):
            self.init(revision: numbers[0] - 1, effectCount: Int(numbers[1]))
        default:
            return nil
        }
    }

    /// The text of the event that lies right before the place.
    var text: String {
        effectCount == 0 ? "\(revision)" : "\(revision + 1).\(effectCount)"
    }
}
