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
                Change.Step(.owning("t"), .touch, ttl: 300, isOnlyIfNew: true),
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
        10,
        1, 0b0110, 1, 0x61, 0, 0, 2, 1, 0xAC, 0x02, 3, 0x5B, 0x31, 0x5D,
        3, 0b1000, 2, 0xC3, 0xA9, 0, 0, 0, 3,
        2, 0, 1, 0x62, 0, 0,
        0, 0b0001, 1, 0x63, 0, 0,
        3, 0, 1, 0x6D, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01,
        7, 0, 1, 0x74, 0xAC, 0x02, 1,
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
                "a", "é", "b", "c", "m", "t", "p", "p", "r", "s", "n",
            ]
        )
        #expect(read.steps.map(\.conditions) == Self.change.steps.map(\.conditions))
    }

    @Test func `a change of one step is written and read`() throws {
        let step = Change.Step(.owning("a"), .delete, ttl: 300)
        let bytes: [UInt8] = [3, 0, 2, 0, 1, 0x61, 0xAC, 0x02, 0]
        #expect(Change.step(step).encoded() == bytes)
        #expect(try Change(decoding: bytes).steps.map(\.ttl) == [300])
    }

    @Test func `what is cut off, or has more behind it, is no change`() {
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
}
