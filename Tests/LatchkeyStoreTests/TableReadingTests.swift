import LatchkeyGuards
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Reads of several tables, one after the other: the result is of one revision all the same.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct TableReadingTests {
    private static let names = (0..<24).map { "n\($0)" }

    /// Each commit counts all names: so each value is the revision, at every revision.
    @Test(arguments: Depth.kinds, [0, 1, 2, 9, 100])
    func `a commit between two tables is found`(kind: StrategyKind, every: Int) {
        let planted = Planted(kind)
        let (store, base) = (planted.store, planted.store.base)
        @Sendable func change() { _ = store.commit(Self.names.map { .increment($0) }) }
        change()
        let named = PageRequest(names: [.owning("n20"), .owning("n3"), .owning("n7")])
        let pages: [(PageRequest, [String])] = [
            (PageRequest(prefix: OwnedBytes([]), after: nil, limit: 1000), Self.names.sorted()),
            (named, ["n20", "n3", "n7"]),
        ]
        for (request, names) in pages {
            let page: Page = planted.reading(every, change) {
                store.wait { base.list(request, .here(), completion: $0) }
            }
            #expect(page.properties.map { PropertyName(of: $0).text } == names)
            #expect(page.properties.allSatisfy { store.text($0) == "\(page.revision)" })
        }
    }

    @Test(arguments: Depth.kinds, [0, 1, 2, 9, 100])
    func `a property that moves between two tables is counted once`(
        kind: StrategyKind,
        every: Int
    ) {
        let planted = Planted(kind)
        let place = Guarded(0)
        @Sendable func move() {
            let to = place.write { place in
                place += 7
                return place
            }
            let (old, new) = (Self.names[(to - 7) % 24], Self.names[to % 24])
            _ = planted.store.commit([.delete(old), .put(new, "1")])
        }
        move()
        for prefix in ["", "n"] {
            let found = planted.reading(every, move) { planted.store.count(prefix) }
            #expect(found == 1)
        }
    }

    /// A follower whose leader came back with other content takes it, at any revision.
    @Test func `a replacement at the same revision between two tables is found`() {
        let planted = Planted(.lock)
        let (store, base) = (planted.store, planted.store.base)
        @Sendable func replace(_ value: String) {
            let properties = Self.names.map { stored($0, value, revision: 1) }
            store.wait { done in base.replace(with: properties, at: 1) { done(()) } }
        }
        replace("1")
        let request = PageRequest(prefix: OwnedBytes([]), after: nil, limit: 1000)
        @Sendable func again() { replace("2") }
        let page: Page = planted.reading(3, again) {
            store.wait { base.list(request, .here(), completion: $0) }
        }
        #expect(Set(page.properties.map(store.text)) == ["2"])
    }

    /// Properties are created, renewed, removed, lose their time, and expire, and nothing removes
    /// the expired ones.
    @Test(arguments: Depth.seeds)
    func `a count is that of a walk, at any time`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let clock = ManualClock()
        let store = BlockingStore(stripeCount: 4, clock: clock.clock)
        var bytes = Set<Int>()
        for _ in 0..<600 {
            let name = "n\(Int.random(in: 0..<100, using: &random))"
            let ttl =
                Bool.random(using: &random) ? TimeToLive.random(in: 1...90, using: &random) : nil
            switch Int.random(in: 0..<8, using: &random) {
            case 0: _ = store.commit(Change([.delete(name)]))
            case 1: _ = store.commit(Change([.touch(name, ttl: ttl ?? 7)]))
            case 2: _ = store.commit([.put(name, "1", ttl: ttl), .touch(name, ttl: 3)])
            case 3: clock.advance(1)
            default: _ = store.commit(Change([.put(name, "1", ttl: ttl)]))
            }
            let prefix = ["", "n", "n1", "n9", "none"].randomElement(using: &random) ?? ""
            let walk = store.snapshot().walk(prefix: OwnedBytes(Array(prefix.utf8)))
            let expected = walk.reduce(0) { count, _ in count + 1 }
            bytes.insert(expected)
            guard store.count(prefix) == expected else {
                Issue.record("seed \(seed): \(store.count(prefix)), not \(expected)")
                return
            }
        }
        #expect(bytes.count > 20)
    }

    @Test func `where many have expired, they are counted some at a time`() throws {
        let clock = ManualClock()
        let store = BlockingStore(stripeCount: 4, clock: clock.clock)
        for number in 0...CountContent.visitsMax {
            _ = store.commit(Change([.put("n\(number)", "1", ttl: 1)]))
        }
        _ = store.commit(Change([.put("n", "1", ttl: nil)]))
        clock.advance(1)
        #expect(store.count("") == 1)
        let prefix = OwnedBytes(Array("n".utf8))
        let found: PropertyCount = store.wait {
            store.base.count(prefix: prefix, .here(), completion: $0)
        }
        guard case .unread(var reading, let revision) = found else {
            Issue.record("\(found)")
            return
        }
        var pieces = 1
        while !reading.read(unitsMax: 100) { pieces += 1 }
        #expect((reading.count, pieces) == (1, 3))
        #expect(revision == Revision(CountContent.visitsMax + 2))
    }
}

/// A store between whose steps a read finds a commit now and then.
private final class Planted: Sendable {
    private struct Plan: Sendable {
        let every: Int
        var steps = 0
        let commit: @Sendable () -> Void
    }

    let store: BlockingStore
    private let plan: Guarded<Plan?>

    init(_ kind: StrategyKind) {
        let plan = Guarded<Plan?>(nil)
        self.plan = plan
        store = BlockingStore(kind, stripeCount: 8) {
            let now = plan.write { plan -> Plan? in
                plan?.steps += 1
                // Not between the steps of the planted commit itself.
                guard let found = plan, found.steps % found.every == 0 else { return nil }
                plan = nil
                return found
            }
            guard let now else { return }
            now.commit()
            plan.write { $0 = now }
        }
    }

    /// Reads, with a commit after every this many steps; 0 is never.
    func reading<Result>(
        _ every: Int,
        _ commit: @escaping @Sendable () -> Void,
        _ read: () -> Result
    ) -> Result {
        if every > 0 { plan.write { $0 = Plan(every: every, commit: commit) } }
        defer { plan.write { $0 = nil } }
        return read()
    }
}

extension BlockingStore {
    /// How many properties have names with the prefix.
    fileprivate func count(_ prefix: String) -> Int {
        let prefix = OwnedBytes(Array(prefix.utf8))
        let found: PropertyCount = wait { base.count(prefix: prefix, .here(), completion: $0) }
        switch found {
        case .count(let count, _): return count
        case .unread(var reading, _):
            _ = reading.read(unitsMax: .max)
            return reading.count
        }
    }
}
