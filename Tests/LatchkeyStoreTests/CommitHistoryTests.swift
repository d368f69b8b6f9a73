import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The commits that a history drops, and the readers that are told.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct CommitHistoryTests {
    /// The commits of puts and of expiries, numbered.
    private struct Maker {
        let journal: Journal
        private(set) var revision: Revision = 0
        private(set) var properties: [String: Property] = [:]

        init(_ byteCountMax: Int) {
            journal = Journal(HistoryLimits(byteCountMax: byteCountMax))
        }

        @discardableResult
        mutating func put(_ name: String) -> Commit {
            let value = OwnedBytes([0x31])
            let property = unsafe Property(
                name: .owning(name),
                value: value.bytes,
                revision: revision + 1,
                created: revision + 1,
                expiry: .never
            )
            return add([(properties.updateValue(property, forKey: name), property)], .requested)
        }

        @discardableResult
        mutating func remove(_ names: [String], _ reason: Commit.Reason = .expired) -> Commit {
            add(names.map { (properties.removeValue(forKey: $0), nil) }, reason)
        }

        private mutating func add(
            _ changes: [(Property?, Property?)],
            _ reason: Commit.Reason
        ) -> Commit {
            revision += 1
            let effects = changes.compactMap { Commit.Effect(from: $0, to: $1, reason) }
            let commit = Commit(
                revision: revision,
                time: Timestamp(milliseconds: 0),
                first: effects[0],
                others: Array(effects.dropFirst())
            )
            journal.append(commit)
            return commit
        }

        func oldest(_ prefix: String) -> Revision { journal.oldest(of: [Array(prefix.utf8)]) }
    }

    /// A put counts 128 bytes, and an expiry of a name of one byte 128 + 64 + 2.
    @Test func `expiries have a quarter, and push out no put`() {
        var maker = Maker(4 * 2 * 194)
        for name in ["a", "b", "c"] { maker.put(name) }
        maker.remove(["a"])
        maker.remove(["b"])
        #expect(maker.journal.usage == (5, 3 * 128 + 2 * 194), "at the bound")
        #expect(maker.journal.oldest == 0)
        maker.remove(["c"])
        // The property that the dropped expiry removed is still in memory, with the put.
        #expect(maker.journal.usage == (5, 3 * 128 + 66 + 2 * 194))
        #expect(maker.journal.oldest == 4 && maker.journal.oldestKept == 0)
        #expect(maker.oldest("a") == 4 && maker.oldest("x/") == 0)
    }

    /// The bytes of a put that a dropped expiry keeps are given back with the put.
    @Test func `puts have the rest, and take expiries before them along`() {
        var maker = Maker(8 * 128)
        maker.put("a")
        maker.remove(["a"])
        for number in 0..<5 { maker.put("n\(number)") }
        #expect(maker.journal.usage == (7, 6 * 128 + 194), "at the bound")
        maker.put("n5")
        #expect(maker.journal.oldestKept == 1)
        #expect(maker.journal.usage == (7, 6 * 128 + 194))
        maker.put("n6")
        #expect(maker.journal.usage == (6, 6 * 128), "no place is before the expiry")
        #expect(maker.journal.oldest == 3)
    }

    /// Otherwise a store with many expiries and few writes would keep all of them in its files.
    @Test func `files keep as many bytes of dropped expiries as the history has`() {
        var maker = Maker(8 * 194)
        for number in 0..<6 { maker.put("\(number)") }
        for number in 0..<2 { maker.remove(["\(number)"]) }
        let journal = maker.journal
        #expect(journal.oldestStored == 0)
        for number in 0..<9 {
            let value = OwnedBytes([0x31])
            let former = unsafe Property(name: .owning("n"), value: value.bytes)
            let revision = Revision(9 + number)
            journal.append(
                Commit(
                    revision: revision,
                    time: Timestamp(milliseconds: 0),
                    first: Commit.Effect(from: former, to: nil, .expired)
                )
            )
            // The two before it are still there.
            #expect(journal.oldestStored == (number < 8 ? 0 : 15))
        }
        #expect(journal.oldestKept == 0 && journal.oldest == 15)
    }

    @Test func `readers that a dropped expiry can concern are told`() {
        var maker = Maker(8)
        for name in ["limits/a", "flat"] { maker.put(name) }
        let journal = Journal(HistoryLimits(byteCountMax: 4 * 128))
        journal.append(Commit.empty(1))
        for (revision, name) in [(2, "limits/a"), (3, "flat")] as [(Revision, String)] {
            let effect = Commit.Effect(from: maker.properties[name], to: nil, .expired)
            journal.append(
                Commit(revision: revision, time: Timestamp(milliseconds: 0), first: effect)
            )
        }
        for (prefix, oldest) in [
            ("limits/a", 2), ("limits/b/", 2), ("limit", 3), ("limits", 3), ("limitsx/", 0),
            ("", 3), ("f", 3), ("orders/", 0), ("flat/", 0),
        ] as [(String, Revision)] {
            let bytes = Array(prefix.utf8)
            #expect(journal.oldest(of: [bytes]) == oldest, "\(prefix)")
            let reading = journal.commits(after: 0, countMax: 10, of: [[0x7A, 0x2F], bytes])
            switch reading {
            case .gone: #expect(oldest > 0, "\(prefix)")
            case .commits(let commits, let end):
                #expect(oldest == 0 && commits.map(\.revision) == [1] && end == 3, "\(prefix)")
            }
        }
    }

    @Test func `with more folders than are remembered, an expiry concerns everybody`() {
        var maker = Maker(1 << 20)
        for number in 0..<257 { maker.put("\(number)/a") }
        let journal = Journal(HistoryLimits(byteCountMax: 4 * 128))
        for number in 0..<257 {
            #expect(journal.oldest(of: [Array("x/".utf8)]) == 0)
            let former = maker.properties["\(number)/a"]
            journal.append(
                Commit(
                    revision: Revision(number + 1),
                    time: Timestamp(milliseconds: 0),
                    first: Commit.Effect(from: former, to: nil, .expired)
                )
            )
        }
        #expect(journal.oldest(of: [Array("x/".utf8)]) == 257)
    }

    /// Readers at random places, which read now and then.
    @Test(arguments: Depth.seeds)
    func `no reader misses an effect without being told`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let byteCount = Int.random(in: 2_000...10_000, using: &random)
        var maker = Maker(byteCount)
        var commits: [Commit] = []
        let prefixes = ["", "a/", "b/", "b/1", "c", "x/"]
        var readers = prefixes.map { (prefix: $0, place: Revision(0), gaps: 0) }
        for step in 0..<1500 {
            commits.append(Self.change(&maker, &random))
            #expect(
                maker.journal.usage.byteCount == Self.bytes(maker.journal, commits),
                "seed \(seed), step \(step)"
            )
            let index = Int.random(in: 0..<readers.count * 8, using: &random)
            guard index < readers.count else { continue }
            let (prefix, place) = (readers[index].prefix, readers[index].place)
            let end = Revision.random(in: place...maker.revision, using: &random)
            let reading = maker.journal.commits(
                after: place,
                through: end,
                countMax: .random(in: 1...40, using: &random),
                of: [Array(prefix.utf8)]
            )
            guard case .commits(let found, let reached) = reading else {
                readers[index].gaps += 1
                readers[index].place = maker.revision
                #expect(maker.oldest(prefix) > place)
                continue
            }
            #expect(end == place || maker.oldest(prefix) <= place && reached > place)
            #expect(reached <= end)
            let wanted = commits.filter { place < $0.revision && $0.revision <= reached }
            #expect(
                found.compactMap { Self.text($0, prefix) }
                    == wanted.compactMap { Self.text($0, prefix) },
                "seed \(seed), step \(step), '\(prefix)'"
            )
            readers[index].place = reached
        }
        let kept = maker.journal.usage.commitCount
        #expect(kept > 0 && kept < commits.count)
        // As a start does it, with what the files have.
        let stored = maker.journal.oldestStored
        let again = Journal(HistoryLimits(byteCountMax: byteCount), after: stored)
        for commit in commits where commit.revision > stored { again.append(commit) }
        for prefix in prefixes {
            let oldest = max(stored, maker.oldest(prefix))
            #expect(again.oldest(of: [Array(prefix.utf8)]) == oldest, "seed \(seed), '\(prefix)'")
        }
    }

    private static func change(
        _ maker: inout Maker,
        _ random: inout SeededGenerator
    ) -> Commit {
        let names = maker.properties.keys.sorted()
        let kind = names.isEmpty ? 9 : Int.random(in: 0..<10, using: &random)
        guard kind < 4, let name = names.randomElement(using: &random) else {
            let folder = ["a/", "b/", "c"].randomElement(using: &random) ?? ""
            return maker.put("\(folder)\(Int.random(in: 0..<40, using: &random))")
        }
        guard kind < 3 else {
            return maker.remove([name], .requested)
        }
        let expired = names.filter { _ in Int.random(in: 0..<4, using: &random) == 0 }
        return maker.remove(expired.isEmpty ? [name] : expired)
    }

    /// The effects of a commit on names with a prefix; nil if there is none.
    private static func text(_ commit: Commit, _ prefix: String) -> String? {
        let names = commit.effects.map { PropertyName(of: $0.some).text }
            .filter { $0.hasPrefix(prefix) }
        return names.isEmpty ? nil : "\(commit.revision) \(names)"
    }

    /// The bytes that only the held commits keep, counted again.
    private static func bytes(_ journal: Journal, _ commits: [Commit]) -> Int {
        var held: Set<Revision> = []
        // A reader that no expiry concerns gets all held commits after `oldestKept`.
        if case .commits(let found, _) = journal.commits(
            after: journal.oldestKept,
            countMax: .max,
            of: [Array("x/".utf8)]
        ) {
            held.formUnion(found.map(\.revision))
        }
        var kept: [Revision: Int] = [:]
        var count = 0
        for commit in commits {
            let isHeld = held.contains(commit.revision)
            if isHeld { count += 128 + 24 * commit.others.count }
            for former in commit.effects.compactMap(\.former)
            where isHeld || held.contains(former.revision) {
                kept[former.revision] = former.historyByteCount
            }
        }
        return count + kept.values.reduce(0, +)
    }
}

extension Commit {
    fileprivate static func empty(_ revision: Revision) -> Commit {
        Commit(revision: revision, time: Timestamp(milliseconds: 0), first: nil)
    }
}
