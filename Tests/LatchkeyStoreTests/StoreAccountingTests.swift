import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// Random changes of a small store against a model: its properties, their room, and those that are
/// removed for room.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StoreAccountingTests {
    @Test(arguments: Depth.draws)
    func `the store does what its model does`(kind: StrategyKind, seed: UInt64) {
        comparingWithModel(kind, seed: seed, eviction: .lru)
        comparingWithModel(kind, seed: seed, eviction: .refuse)
    }
}

private func comparingWithModel(_ kind: StrategyKind, seed: UInt64, eviction: EvictionPolicy) {
    var random = SeededGenerator(seed)
    var limits = StoreLimits(propertyCountMax: 8, byteCountMax: 90)
    limits.eviction = eviction
    let bench = JournaledBench(kind, stripeCount: 4, limits: limits)
    var model = StoreModel(limits: limits)
    for step in 0..<300 {
        let place = "seed \(seed), step \(step)"
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
            let name = StoreModel.name(&random)
            #expect(bench.store.value(name) == model.read(name), "\(place)")
        case 1:
            let milliseconds = Int64.random(in: 1...4, using: &random)
            bench.clock.advance(milliseconds)
            model.advance(milliseconds)
            #expect(bench.journal.wait(for: model.revision), "\(place)")
        default:
            let steps = StoreModel.steps(&random)
            let decision = bench.store.commit(steps.map(\.step))
            let isMade = model.commit(steps)
            if case .success = decision {
                #expect(isMade, "\(place)")
            } else {
                #expect(!isMade, "\(place)")
            }
        }
        let usage = bench.base.usage
        #expect(usage.revision == model.revision, "\(place)")
        #expect(usage.propertyCount == model.properties.count, "\(place)")
        #expect(usage.byteCount == model.byteCount, "\(place)")
        let listed = bench.store.list(limit: 100).properties
        let found = listed.map { "\(PropertyName(of: $0).text)=\(bench.store.text($0))" }
        #expect(found == model.texts, "\(place)")
        guard found == model.texts, usage.revision == model.revision else {
            return
        }
    }
    #expect(bench.evictor.count == model.evictionCount, "seed \(seed)")
    #expect(bench.expiries.count == model.expiryCount, "seed \(seed)")
    #expect(eviction == .refuse || model.evictionCount > 0)
}

/// The properties of a store as a dictionary, with the order of their use.
private struct StoreModel {
    struct Entry {
        var value: String
        var expiry: Int64?
        var use: Int
    }

    enum Action {
        case put(String, ttl: Int64?)
        case delete
        case get
    }

    struct Step {
        let name: String
        let action: Action

        var step: Change.Step {
            switch action {
            case .put(let value, let ttl): .put(name, value, ttl: ttl)
            case .delete: .delete(name)
            case .get: .get(name)
            }
        }
    }

    let limits: StoreLimits
    private(set) var properties: [String: Entry] = [:]
    private(set) var revision: Revision = 0
    private(set) var evictionCount: UInt64 = 0
    private(set) var expiryCount: UInt64 = 0
    private var now: Int64 = 0
    private var useCount = 0

    init(limits: StoreLimits) {
        self.limits = limits
    }

    static func name(_ random: inout SeededGenerator) -> String {
        "n\(Int.random(in: 0..<14, using: &random))"
    }

    /// One step, or a transaction.
    static func steps(_ random: inout SeededGenerator) -> [Step] {
        let count = Int.random(in: 0..<3, using: &random) == 0 ? 3 : 1
        return (0..<count).map { _ in
            let length = Int.random(in: 0..<40, using: &random) == 0 ? 95 : nil
            let digits = length ?? Int.random(in: 1...25, using: &random)
            let ttl = Bool.random(using: &random) ? Int64.random(in: 1...9, using: &random) : nil
            let put = Action.put(String(repeating: "1", count: digits), ttl: ttl)
            let kind = Int.random(in: 0..<8, using: &random)
            let action = kind == 0 ? .delete : kind == 1 && count > 1 ? .get : put
            return Step(name: name(&random), action: action)
        }
    }

    var texts: [String] {
        properties.sorted { $0.key < $1.key }.map { "\($0)=\($1.value)" }
    }

    var byteCount: Int { Self.byteCount(properties) }

    private static func byteCount(_ properties: [String: Entry]) -> Int {
        properties.reduce(0) { $0 + $1.key.utf8.count + $1.value.value.utf8.count }
    }

    private mutating func use() -> Int {
        useCount += 1
        return useCount
    }

    mutating func read(_ name: String) -> String? {
        guard properties[name] != nil else { return nil }
        let number = use()
        properties[name]?.use = number
        return properties[name]?.value
    }

    /// Lets time pass, and removes what expires in it.
    mutating func advance(_ milliseconds: Int64) {
        now += milliseconds
        let due = properties.filter { ($0.value.expiry ?? .max) <= now }
        for name in due.keys { properties[name] = nil }
        // One commit for each instant.
        revision += Revision(Set(due.values.map(\.expiry)).count)
        expiryCount += UInt64(due.count)
    }

    /// Makes the steps, and room for them; false if they are refused.
    mutating func commit(_ steps: [Step]) -> Bool {
        if steps.count == 1, case .delete = steps[0].action, properties[steps[0].name] == nil {
            return false
        }
        var names: [String] = []
        var changed: Set<String> = []
        var after = properties
        for step in steps {
            if !names.contains(step.name) {
                names.append(step.name)
            }
            switch step.action {
            case .put(let value, let ttl):
                after[step.name] = Entry(value: value, expiry: ttl.map { now + $0 }, use: 0)
                changed.insert(step.name)
            case .delete where after[step.name] != nil:
                after[step.name] = nil
                changed.insert(step.name)
            case .delete, .get: break
            }
        }
        guard makeRoom(&after, names, changed) else { return false }
        let hasEffect = changed.contains { properties[$0] != nil || after[$0] != nil }
        properties = after
        for name in names.filter(changed.contains) + names.filter({ !changed.contains($0) })
        where properties[name] != nil {
            let number = use()
            properties[name]?.use = number
        }
        revision += hasEffect ? 1 : 0
        return true
    }

    /// Removes the others in the order of their use, as the limit of properties requires, and then
    /// as that of bytes does.
    private mutating func makeRoom(
        _ after: inout [String: Entry],
        _ names: [String],
        _ changed: Set<String>
    ) -> Bool {
        let own = after.filter { changed.contains($0.key) }
        let former = properties.filter { changed.contains($0.key) }
        let addsProperties = own.count > former.count
        let addsBytes = Self.byteCount(own) > Self.byteCount(former)
        if addsProperties && own.count > limits.propertyCountMax
            || addsBytes && Self.byteCount(own) > limits.byteCountMax
        {
            return false
        }
        while addsProperties && after.count > limits.propertyCountMax
            || addsBytes && Self.byteCount(after) > limits.byteCountMax
        {
            let others = properties.filter { !names.contains($0.key) }
            guard limits.eviction == .lru,
                let oldest = others.min(by: { $0.value.use < $1.value.use })?.key
            else {
                return false
            }
            properties[oldest] = nil
            after[oldest] = nil
            revision += 1
            evictionCount += 1
        }
        return true
    }
}
