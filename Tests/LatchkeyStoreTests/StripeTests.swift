import Testing

@testable import LatchkeyStore

/// One stripe against a model that is too simple to be wrong, and the rules of single operations.
struct StripeTests {
    private static func name(_ text: String) -> PropertyName {
        // The bytes live as long as their owner, which the name keeps.
        let owner = NameBytes(text)
        guard let name = try? unsafe PropertyName(borrowing: owner.bytes, owner: owner) else {
            preconditionFailure("the test's names are valid")
        }
        return name
    }

    private static func property(_ name: PropertyName, _ value: String) -> Property {
        var value = value
        return value.withUTF8 { unsafe Property(name: name, value: UnsafeRawBufferPointer($0)) }
    }

    private static func names(_ stripe: Stripe) -> [String] {
        var walk = unsafe stripe.order.walk(
            from: UnsafeRawBufferPointer(start: nil, count: 0),
            including: true
        )
        var names: [String] = []
        while let property = walk.next() {
            names.append(unsafe String(decoding: property.nameBytes, as: UTF8.self))
        }
        return names
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `it behaves as a dictionary and a sorted list`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var stripe = Stripe(ledger: Ledger(limits: StoreLimits()))
        var model: [String: (value: String, revision: Revision, created: Revision)] = [:]
        var revision: Revision = 0
        for _ in 0..<20_000 {
            let text = "k\(Int.random(in: 0..<3000, using: &random))"
            let name = Self.name(text)
            if Int.random(in: 0..<10, using: &random) < 6 {
                let value = "\(Int.random(in: 0..<1000, using: &random))"
                _ = stripe.put(Self.property(name, value), name: name, conditions: .none)
                revision += 1
                model[text] = (value, revision, model[text]?.created ?? revision)
            } else {
                let result = stripe.delete(name, conditions: .none)
                if model.removeValue(forKey: text) == nil {
                    #expect(result == .missing)
                } else {
                    revision += 1
                    #expect(result == .deleted(revision))
                }
            }
        }
        #expect(stripe.count == model.count)
        #expect(
            Self.names(stripe) == model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        )
        for number in 0..<3000 {
            let found = stripe.get(Self.name("k\(number)"))
            let expected = model["k\(number)"]
            #expect(found?.revision == expected?.revision)
            #expect(found?.created == expected?.created)
            let value = found.map { unsafe String(decoding: $0.valueBytes, as: UTF8.self) }
            #expect(value == expected?.value)
        }
    }

    @Test func `names that arrive in order, backwards and around each other stay sorted`() {
        let numbers = [
            Array(0..<2000), (0..<2000).reversed(), (0..<2000).map { ($0 * 7919) % 2000 },
        ]
        for order in numbers {
            var stripe = Stripe(ledger: Ledger(limits: StoreLimits()))
            for number in order {
                let name = Self.name("n\(10_000 + number)")
                _ = stripe.put(Self.property(name, "1"), name: name, conditions: .none)
            }
            #expect(Self.names(stripe) == (0..<2000).map { "n\(10_000 + $0)" })
        }
    }

    @Test func `a property that comes back has a new creation revision`() {
        var stripe = Stripe(ledger: Ledger(limits: StoreLimits()))
        let name = Self.name("a")
        #expect(stripe.put(Self.property(name, "1"), name: name, conditions: .none) == .created(1))
        #expect(stripe.put(Self.property(name, "2"), name: name, conditions: .none) == .replaced(2))
        #expect(stripe.get(name)?.created == 1)
        #expect(stripe.delete(name, conditions: .none) == .deleted(3))
        #expect(stripe.put(Self.property(name, "3"), name: name, conditions: .none) == .created(4))
        #expect(stripe.get(name)?.created == 4)
    }

    @Test func `conditions are checked before anything changes`() {
        var stripe = Stripe(ledger: Ledger(limits: StoreLimits()))
        let name = Self.name("a")
        let onlyNew = Conditions(ifNoneMatch: .any)
        let first = Conditions(ifMatch: .oneOf([1]))
        let some = Conditions(ifMatch: .any)
        #expect(
            stripe.put(Self.property(name, "0"), name: name, conditions: some)
                == .preconditionFailed
        )
        #expect(stripe.delete(name, conditions: first) == .missing)
        #expect(
            stripe.put(Self.property(name, "1"), name: name, conditions: onlyNew) == .created(1)
        )
        #expect(
            stripe.put(Self.property(name, "2"), name: name, conditions: onlyNew)
                == .preconditionFailed
        )
        #expect(stripe.put(Self.property(name, "2"), name: name, conditions: first) == .replaced(2))
        #expect(
            stripe.put(Self.property(name, "3"), name: name, conditions: first)
                == .preconditionFailed
        )
        #expect(stripe.delete(name, conditions: first) == .preconditionFailed)
        guard case .preconditionFailed = stripe.increment(name, by: 1, conditions: first) else {
            Issue.record("an increment ignores its condition")
            return
        }
        #expect(stripe.get(name)?.revision == 2)
        #expect(
            stripe.delete(name, conditions: Conditions(ifMatch: .oneOf([7, 2]))) == .deleted(3)
        )
    }

    @Test func `an increment counts within 64 bits and changes nothing beyond`() {
        var stripe = Stripe(ledger: Ledger(limits: StoreLimits()))
        let name = Self.name("n")
        func value() -> String? {
            stripe.get(name).map { unsafe String(decoding: $0.valueBytes, as: UTF8.self) }
        }
        _ = stripe.increment(name, by: 5, conditions: .none)
        #expect(value() == "5")
        _ = stripe.increment(name, by: -7, conditions: .none)
        #expect(value() == "-2")
        _ = stripe.put(Self.property(name, "\(Int64.max)"), name: name, conditions: .none)
        guard case .overflow = stripe.increment(name, by: 1, conditions: .none) else {
            Issue.record("the sum does not fit")
            return
        }
        #expect(value() == "\(Int64.max)")
        _ = stripe.increment(name, by: .min, conditions: .none)
        #expect(value() == "-1")
        for text in ["1.0", "1e2", "\"1\"", "null", "[1]", "9223372036854775808"] {
            _ = stripe.put(Self.property(name, text), name: name, conditions: .none)
            guard case .notAnInteger = stripe.increment(name, by: 1, conditions: .none) else {
                Issue.record("\(text) is no integer of 64 bits")
                return
            }
            #expect(value() == text)
        }
        _ = stripe.put(
            Self.property(name, " -9223372036854775808\n"),
            name: name,
            conditions: .none
        )
        _ = stripe.increment(name, by: 0, conditions: .none)
        #expect(value() == "-9223372036854775808")
    }

    @Test func `the bounds hold at the bound and refuse above it`() {
        var stripe = Stripe(
            ledger: Ledger(limits: StoreLimits(propertyCountMax: 2, byteCountMax: 10))
        )
        let a = Self.name("a")
        let b = Self.name("b")
        let c = Self.name("c")
        #expect(stripe.put(Self.property(a, "1234"), name: a, conditions: .none) == .created(1))
        #expect(stripe.put(Self.property(b, "12345"), name: b, conditions: .none) == .full(.bytes))
        #expect(stripe.get(b) == nil)
        #expect(stripe.put(Self.property(b, "1234"), name: b, conditions: .none) == .created(2))
        #expect(stripe.put(Self.property(c, "1"), name: c, conditions: .none) == .full(.properties))
        #expect(stripe.put(Self.property(a, "12345"), name: a, conditions: .none) == .full(.bytes))
        #expect(stripe.get(a)?.revision == 1)
        #expect(stripe.put(Self.property(a, "1"), name: a, conditions: .none) == .replaced(3))
        #expect(stripe.put(Self.property(b, "1234567"), name: b, conditions: .none) == .replaced(4))
        #expect(stripe.delete(b, conditions: .none) == .deleted(5))
        #expect(stripe.put(Self.property(c, "1234567"), name: c, conditions: .none) == .created(6))
    }
}

extension Optional where Wrapped == Property {
    fileprivate static func == (left: Property?, right: Never?) -> Bool {
        if case .none = left { true } else { false }
    }
}

/// Keeps a name's bytes.
///
/// SAFETY: `@safe` because the bytes are written once, and freed with the object.
@safe
private final class NameBytes {
    let bytes: UnsafeRawBufferPointer

    init(_ text: String) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
        unsafe copy.copyBytes(from: text.utf8)
        unsafe bytes = UnsafeRawBufferPointer(copy)
    }

    deinit {
        unsafe bytes.deallocate()
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), so that a failure can be repeated.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
