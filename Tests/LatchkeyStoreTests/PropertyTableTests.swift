import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// One table against a model that is too simple to be wrong, and the rules of single operations.
struct PropertyTableTests {
    private static func table(_ limits: StoreLimits = StoreLimits()) -> PropertyTable {
        PropertyTable(context: CommitContext(limits: limits))
    }

    private static func names(_ table: PropertyTable) -> [String] {
        var names: [String] = []
        table.order.visit { property in
            names.append(unsafe String(decoding: property.nameBytes, as: UTF8.self))
        }
        return names
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `it behaves as a dictionary and a sorted list`(seed: UInt64) {
        var random = SeededGenerator(seed)
        var table = Self.table()
        var model: [String: (value: String, revision: Revision, created: Revision)] = [:]
        var revision: Revision = 0
        for _ in 0..<20_000 {
            let text = "k\(Int.random(in: 0..<3000, using: &random))"
            let name = PropertyName.owning(text)
            if Int.random(in: 0..<10, using: &random) < 6 {
                let value = "\(Int.random(in: 0..<1000, using: &random))"
                _ = table.put(name, value)
                revision += 1
                model[text] = (value, revision, model[text]?.created ?? revision)
            } else {
                let result = table.delete(name)
                if model.removeValue(forKey: text) == nil {
                    #expect(result == .refused(.missing))
                } else {
                    revision += 1
                    #expect(result == .deleted(revision))
                }
            }
        }
        #expect(table.count == model.count)
        #expect(
            Self.names(table) == model.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        )
        for number in 0..<3000 {
            let found = table.find(PropertyName.owning("k\(number)"), in: .live)
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
            var table = Self.table()
            for number in order {
                let name = PropertyName.owning("n\(10_000 + number)")
                _ = table.put(name, "1")
            }
            #expect(Self.names(table) == (0..<2000).map { "n\(10_000 + $0)" })
        }
    }

    @Test func `conditions are checked before anything changes`() {
        var table = Self.table()
        let name = PropertyName.owning("a")
        let onlyNew = Conditions(ifNoneMatch: .any)
        let first = Conditions(ifMatch: .oneOf([1]))
        let some = Conditions(ifMatch: .any)
        #expect(table.put(name, "0", some) == .refused(.preconditionFailed))
        #expect(table.delete(name, first) == .refused(.missing))
        #expect(table.put(name, "1", onlyNew) == .created(1))
        #expect(table.put(name, "2", onlyNew) == .refused(.preconditionFailed))
        #expect(table.put(name, "2", first) == .replaced(2))
        #expect(table.put(name, "3", first) == .refused(.preconditionFailed))
        #expect(table.delete(name, first) == .refused(.preconditionFailed))
        #expect(
            table.increment(name, by: 1, first) == .refused(.preconditionFailed),
            "an increment ignores its condition"
        )
        #expect(table.find(name, in: .live)?.revision == 2)
        #expect(table.delete(name, Conditions(ifMatch: .oneOf([7, 2]))) == .deleted(3))
    }

    @Test func `an increment counts within 64 bits and changes nothing beyond`() {
        var table = Self.table()
        let name = PropertyName.owning("n")
        func value() -> String? {
            table.find(name, in: .live).map {
                unsafe String(decoding: $0.valueBytes, as: UTF8.self)
            }
        }
        _ = table.increment(name, by: 5)
        #expect(value() == "5")
        _ = table.increment(name, by: -7)
        #expect(value() == "-2")
        _ = table.put(name, "\(Int64.max)")
        #expect(table.increment(name, by: 1) == .refused(.overflow), "the sum does not fit")
        #expect(value() == "\(Int64.max)")
        _ = table.increment(name, by: .min)
        #expect(value() == "-1")
        for text in ["1.0", "1e2", "\"1\"", "null", "[1]", "9223372036854775808"] {
            _ = table.put(name, text)
            #expect(
                table.increment(name, by: 1) == .refused(.notAnInteger),
                "\(text) is no integer of 64 bits"
            )
            #expect(value() == text)
        }
        _ = table.put(name, " -9223372036854775808\n")
        _ = table.increment(name, by: 0)
        #expect(value() == "-9223372036854775808")
    }

    @Test func `the bounds hold at the bound and refuse above it`() {
        var table = Self.table(StoreLimits(propertyCountMax: 2, byteCountMax: 10))
        let a = PropertyName.owning("a")
        let b = PropertyName.owning("b")
        let c = PropertyName.owning("c")
        #expect(table.put(a, "1234") == .created(1))
        #expect(table.put(b, "12345") == .refused(.full(.bytes(shortage: 1))))
        #expect(table.find(b, in: .live) == nil)
        #expect(table.put(b, "1234") == .created(2))
        #expect(table.put(c, "1") == .refused(.full(.properties(shortage: 1))))
        #expect(table.put(a, "12345") == .refused(.full(.bytes(shortage: 1))))
        #expect(table.find(a, in: .live)?.revision == 1)
        #expect(table.put(a, "1") == .replaced(3))
        #expect(table.put(b, "1234567") == .replaced(4))
        #expect(table.delete(b) == .deleted(5))
        #expect(table.put(c, "1234567") == .created(6))
    }
}

extension Optional where Wrapped == Property {
    fileprivate static func == (left: Property?, right: Never?) -> Bool {
        if case .none = left { true } else { false }
    }
}
