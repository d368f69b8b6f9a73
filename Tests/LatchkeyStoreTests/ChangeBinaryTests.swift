import LatchkeyJSON
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// The binary form of changes.
struct ChangeBinaryTests {
    private static let one = OwnedBytes([0x31])
    private static let change = Change.transaction(
        Transaction(
            if: [
                Transaction.Condition(.owning("c"), .revision(300)),
                Transaction.Condition(.owning("d"), .exists(true)),
                Transaction.Condition(.owning("e"), unsafe .equals(one.bytes)),
                Transaction.Condition(.owning("f"), unsafe .compares(.greaterOrEqual, one.bytes)),
            ],
            [
                .put("a", "[1]", Conditions(ifMatch: .oneOf([1, 300]), ifNoneMatch: .any)),
                .increment("é", by: -2, Conditions(ifNoneMatch: .oneOf([]))),
                .delete("b"),
                .get("c", Conditions(ifMatch: .any)),
                .increment("m", by: .min),
                Change.Step(.owning("t"), .touch, ttl: 300),
                Change.Step(.owning("u"), .increment(by: 1), ttl: 300, isOnlyIfNew: true),
                .claim("p", "q", ttl: 1), .pop("p"), .deletePrefix("r", countMax: 300), .count("s"),
            ],
            else: [.increment("n", by: .max)]
        )
    )

    private static let bytes: [UInt8] = [
        3, 1, 4,
        0, 1, 0x63, 0xAC, 0x02,
        1, 1, 0x64, 1,
        2, 1, 0x65, 1, 0x31,
        6, 1, 0x66, 1, 0x31,
        11,
        1, 0b0110, 1, 0x61, 0, 0, 2, 1, 0xAC, 0x02, 3, 0x5B, 0x31, 0x5D,
        3, 0b1000, 2, 0xC3, 0xA9, 0, 0, 0, 3,
        2, 0, 1, 0x62, 0, 0,
        0, 0b0001, 1, 0x63, 0, 0,
        3, 0, 1, 0x6D, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
        7, 0, 1, 0x74, 0xAC, 0x02, 0,
        3, 0, 1, 0x75, 0xAC, 0x02, 1, 2,
        8, 0, 1, 0x70, 1, 0, 1, 1, 0x71, 4, 0x6E, 0x75, 0x6C, 0x6C,
        8, 0, 1, 0x70, 0, 0, 0,
        9, 0, 1, 0x72, 0, 0, 0xAC, 0x02, 1,
        10, 0, 1, 0x73, 0, 0,
        1, 3, 0, 1, 0x6E, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
    ]

    @Test func `a change is written and read`() throws {
        #expect(Self.change.encoded() == Self.bytes)
        let read = try Change(decoding: Self.bytes)
        #expect(read.encoded() == Self.bytes)
        #expect(
            read.steps.map(\.name.text) == [
                "a", "é", "b", "c", "m", "t", "u", "p", "p", "r", "s", "n",
            ]
        )
        #expect(read.steps.map(\.conditions) == Self.change.steps.map(\.conditions))
    }

    @Test func `a change of one step is written and read`() throws {
        let step = Change.Step(.owning("a"), .touch, ttl: 300)
        let bytes: [UInt8] = [3, 0, 7, 0, 1, 0x61, 0xAC, 0x02, 0]
        #expect(Change.step(step).encoded() == bytes)
        #expect(try Change(decoding: bytes).steps.map(\.ttl) == [300])
    }

    @Test func `bytes that are cut off, or have more after them, are no change`() {
        for count in Self.bytes.indices {
            #expect(throws: InvalidChange()) {
                try Change(decoding: Array(Self.bytes[..<count]))
            }
        }
        #expect(throws: InvalidChange()) {
            try Change(decoding: Self.bytes + [0])
        }
    }

    @Test(
        arguments: [
            [2, 0, 2, 0, 1, 0x61, 0, 0], [3, 2, 2, 0, 1, 0x61, 0, 0], [3, 0, 11, 0, 1, 0x61, 0, 0],
            [3, 0, 2, 3, 1, 0x61, 0, 0], [3, 0, 2, 16, 1, 0x61, 0, 0], [3, 0, 2, 0, 0, 0, 0],
            [3, 0, 2, 0, 1, 0x07, 0, 0], [3, 0, 2, 0, 0x81, 0, 0x61, 0, 0],
            [3, 0, 2, 0, 1, 0x61] + [UInt8](repeating: 0xFF, count: 9) + [1, 0],
            [3, 0, 2, 0, 1, 0x61, 0, 2], [3, 0, 8, 0, 1, 0x61, 0, 0, 2],
            [3, 1, 0, 0xE9, 0x07, 0], [3, 1, 1, 8, 1, 0x61, 0, 0, 0],
            [3, 1, 1, 1, 1, 0x61, 2, 0, 0],
        ] as [[UInt8]]
    )
    func `bytes with a wrong part are no change`(bytes: [UInt8]) {
        #expect(throws: InvalidChange()) {
            try Change(decoding: bytes)
        }
    }

    private static let (half, empty) = (OwnedBytes(Array("{\"a\":[1".utf8)), OwnedBytes([]))
    private static let claim = unsafe Change.Claim(.owning("q"), value: one.bytes)
    private static let halfClaim = unsafe Change.Claim(.owning("q"), value: half.bytes)
    private static let expiry = Conditions(ifMatch: .oneOf([3]))

    /// Steps that cannot stand alone, and one that can.
    private static let alone: [(Change.Step, isPossible: Bool)] = unsafe [
        (.count("a"), false), (.pop("a"), false), (.claim("p", "q", ttl: 1), false),
        (.deletePrefix("a", countMax: 1), false), (.get("a"), true),
        (Change.Step(.owning("a"), .put(empty.bytes)), false),
        (Change.Step(.owning("a"), .put(half.bytes)), false),
        (Change.Step(.owning("a"), .merge(half.bytes)), false),
        (Change.Step(.owning("a"), .merge(empty.bytes)), false),
        (Change.Step(.owning("a"), .touch), false),
        (Change.Step(.owning("a"), .touch, ttl: 1, isOnlyIfNew: true), false),
        (Change.Step(.owning("a"), .delete, ttl: 1), false),
        (Change.Step(.owning("a"), .increment(by: 1), isOnlyIfNew: true), false),
        (Change.Step(.owning("a"), .expire, expiry), true),
        (Change.Step(.owning("a"), .evict, expiry), true),
        (Change.Step(.owning("a"), .expire), false),
    ]

    @Test func `a step that no client can ask for by itself is no change`() {
        for (step, isPossible) in Self.alone {
            let bytes = Change.step(step).encoded()
            let isRead = (try? Change(decoding: bytes)) != nil
            #expect(isRead == isPossible, "\(step.action)")
        }
    }

    /// Transactions that no client can ask for.
    private static let transactions: [Transaction] = unsafe [
        Transaction([Change.Step(.owning("a"), .expire, expiry)]),
        Transaction([Change.Step(.owning("a"), .evict, expiry)]),
        Transaction([Change.Step(.owning("a"), .merge(half.bytes))]),
        Transaction(if: [Transaction.Condition(.owning("a"), .equals(half.bytes))], []),
        Transaction(if: [Transaction.Condition(.owning("a"), .compares(.less, empty.bytes))], []),
        Transaction([.claim("p", "pq", ttl: 1)]),
        Transaction([Change.Step(.owning("p"), .pop(claim))]),
        Transaction([Change.Step(.owning("p"), .pop(halfClaim), ttl: 1)]),
        Transaction([Change.Step(.owning("p"), .pop(nil), ttl: 1)]),
        Transaction([.deletePrefix("a", countMax: 0)]),
        Transaction([.deletePrefix("a", countMax: 1001)]),
        Transaction((0..<129).map { .get("\($0)") }),
        Transaction([], else: (0..<129).map { .put("\($0)", "1") }),
        Transaction(
            if: [Transaction.Condition(.owning("a"), .exists(true))],
            (0..<129).map { .put("\($0)", "1") }
        ),
    ]

    @Test func `a transaction that no client can ask for is no change`() {
        for transaction in Self.transactions {
            #expect(throws: InvalidChange(), "\(transaction)") {
                try Change(decoding: Change.transaction(transaction).encoded())
            }
        }
        let batch = Transaction((0..<1000).map { .put("\($0)", "1") })
        #expect(throws: Never.self) {
            try Change(decoding: Change.transaction(batch).encoded())
        }
    }

    @Test func `bytes that are changed anywhere are read as themselves or refused`() {
        for index in Self.bytes.indices {
            for bit in 0..<8 {
                var bytes = Self.bytes
                bytes[index] ^= 1 << UInt8(bit)
                if let change = try? Change(decoding: bytes) {
                    #expect(change.encoded() == bytes)
                }
            }
        }
    }

    /// The check refuses nothing that clients can send.
    @Test(arguments: [1, 2] as [UInt64])
    func `each transaction that a client can send can be written and read`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let texts = [
            #"{"then":[{"put":"a","value":{"n":[1,2]},"ttl":5},{"merge":"a","patch":{"n":null}}]}"#,
            #"{"if":[{"name":"a","exists":true},{"name":"c","<":9},{"name":"d","equals":"x"}]}"#,
            #"{"else":[{"pop":"q/"},{"count":"q/"},{"increment":"c","by":-2,"ttl-if-new":9}]}"#,
            #"{"then":[{"pop":"q/","claim":"r/","ttl":5,"value":[]},{"delete-prefix":"s/"}]}"#,
            #"{"then":[{"touch":"q/1","ttl":8},{"delete":"b"},{"get":"a"}]}"#,
        ]
        var readCount = 0
        for _ in 0..<Depth.count(5000, deep: 200_000) {
            let text = Array((texts.randomElement(using: &random) ?? "").utf8)
            unsafe random.mutated(text, SeededGenerator.texts).withUnsafeBytes { bytes in
                guard (try? unsafe JSONText.check(bytes, depthMax: 64)) != nil,
                    let transaction = try? unsafe Transaction(JSONView(bytes))
                else { return }
                let encoded = Change.transaction(transaction).encoded()
                #expect((try? Change(decoding: encoded))?.encoded() == encoded)
                readCount += 1
            }
        }
        #expect(readCount > 100)
    }

    /// The same for lines of an import, which no text can bring beyond the limits.
    @Test func `each line that a client can import can be written and read`() {
        var random = SeededGenerator(3)
        let line = #"{"name":"a\u00e9","value":{"x":[1.50]},"ttl":5,"revision":3,"created":2}"#
        for _ in 0..<Depth.count(5000, deep: 200_000) {
            let text = random.mutated(Array(line.utf8), SeededGenerator.texts)
            unsafe text.withUnsafeBytes { bytes in
                guard case .put(let step)? = try? unsafe ImportEntry(bytes, depthMax: 64)
                else { return }
                let encoded = Change.transaction(Transaction([step])).encoded()
                #expect((try? Change(decoding: encoded))?.encoded() == encoded)
            }
        }
    }
}
