import CLatchkeySystem
import Foundation
import LatchkeyStrategies
import Testing

@testable import LatchkeyContention

/// The file that a profile is written to.
@Suite struct ProfileFormat {
    /// One lock, one slow place, one that waited, without addresses.
    private static let reading = ProfileReading(
        interval: 100,
        started: Date(timeIntervalSince1970: 1.5),
        nanoseconds: 2_000_000_000,
        lostCount: 0,
        samples: [
            ProfileSample(
                lock: ProfileSample.Lock(name: "sessions", strategy: "lock"),
                mode: .write,
                holder: ProfileSample.Place(site: CallSite("Shop/Slow.swift", 300), addresses: []),
                waiter: ProfileSample.Place(site: CallSite("Shop/Fast.swift", 7), addresses: []),
                count: 200,
                nanoseconds: 1_000_000
            )
        ]
    )

    /// Made by hand of the fields of profile.proto.
    private static let message = """
        0a04080110020a040803100412220a01011205c801c0843d1a04080510061a04080710081a040809\
        100a1a040806100b220908012205080110ac022a080801100c180c200d4880dea0cb055080a8d6b9\
        075a040801100260643200320b636f6e74656e74696f6e733205636f756e74320564656c6179320b\
        6e616e6f7365636f6e64733208737472617465677932046c6f636b32046d6f646532057772697465\
        3206776169746572321153686f702f466173742e73776966743a37320873657373696f6e73321353\
        686f702f536c6f772e73776966743a333030320f53686f702f536c6f772e7377696674
        """

    @Test func `a small profile is these bytes`() {
        let bytes = PprofProfile.bytes(Self.reading, Symbols())
        #expect(bytes.map { String(format: "%02x", $0) }.joined() == Self.message)
    }

    @Test func `a comment says how many contentions were lost`() {
        var reading = Self.reading
        reading.lostCount = 300
        let text = String(decoding: PprofProfile.bytes(reading, Symbols()), as: UTF8.self)
        #expect(text.contains("300 contentions were not recorded"))
    }

    @Test func `an unknown place has a name`() {
        var reading = Self.reading
        reading.samples[0].holder = ProfileSample.Place(site: .unknown, addresses: [])
        let text = String(decoding: PprofProfile.bytes(reading, Symbols()), as: UTF8.self)
        #expect(text.contains("(unknown)"))
        #expect(reading.sites.map(\.holder) == ["(unknown)"])
    }

    @Test func `the checksum is that of the standard`() {
        #expect(GzipFile.checksum(Array("123456789".utf8)) == 0xCBF4_3926)
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 200_000])
    func `gzip reads what was stored`(count: Int) throws {
        let data = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let process = Process()
        let (input, output) = (Pipe(), Pipe())
        process.executableURL = URL(filePath: "/bin/gzip")
        process.arguments = ["-dc"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let file = GzipFile.bytes(data)
        Thread.detachNewThread {
            try? input.fileHandleForWriting.write(contentsOf: Data(file))
            try? input.fileHandleForWriting.close()
        }
        let found = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        #expect(Array(found) == data)
    }

    @Test(arguments: [
        ("Shop.Cart.add(_: Swift.Int) -> Swift.Bool", "Shop.Cart.add"),
        ("Shop.(Cart in _0F2A).add<A where A: P>(_: A) -> ()", "Shop.Cart.add"),
        ("generic specialization <Shop.Cart<Swift.Int>> of Shop.Box.get() -> A", "Shop.Box.get"),
        (
            "function signature specialization <Arg[0] = Exploded> of closure #1 (Swift.Int) -> () "
                + "in Shop.Cart.clear() throws -> ()", "Shop.Cart.clear (closure)"
        ),
        (
            "partial apply forwarder for closure #2 () -> () in Shop.run() -> ()",
            "Shop.run (closure)"
        ),
        ("Shop.Cart.total.getter : Swift.Int", "Shop.Cart.total.getter"),
        ("static Shop.Cart.== infix(Shop.Cart, Shop.Cart) -> Swift.Bool", "Shop.Cart.== infix"),
        (
            "static (extension in Shop):Shop.Goods.sort<A where A: P>(by: A) -> ()",
            "Shop.Goods.sort"
        ),
        ("protocol witness for Shop.Box.get() -> A in conformance Shop.Cart", "Shop.Box.get"),
        ("$defer #1 <A><A1, B1 where A: P>() -> () in Shop.Cart.add() -> ()", "Shop.Cart.add"),
        (
            "reabstraction thunk helper from @escaping () -> () to @escaping () -> (@out ())",
            "reabstraction thunk"
        ),
        ("pthread_create", "pthread_create"),
    ])
    func `names are short`(name: String, short: String) {
        #expect(FunctionName.short(name) == short)
    }

    @Test func `the functions of a stack have their names`() {
        latchkey_system_stack_prepare()
        let addresses = plantedFrame()
        let symbols = Symbols(of: addresses)
        let names = addresses.compactMap { symbols[$0]?.name }
        #expect(names.contains { $0.contains("plantedFrame") }, "\(names)")
        #expect(addresses.prefix(3).allSatisfy { symbols.mapping($0) != nil })
    }

    @Test func `a file that is no program has no symbols`() throws {
        for bytes in [
            Data(), Data([0x7F, 0x45, 0x4C, 0x46, 2, 1]), Data(repeating: 0xFF, count: 99),
        ] {
            let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            try bytes.write(to: path)
            defer { try? FileManager.default.removeItem(at: path) }
            #expect(ELFFile(path: path.path) == nil)
        }
        #expect(ELFFile(path: "/nowhere") == nil)
    }

    @Test(.timeLimit(.minutes(15))) func `a program that was cut off is read without a trap`()
        throws
    {
        let program = try Data(contentsOf: URL(filePath: "/bin/gzip"))
        let path = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: path) }
        for count in stride(from: 0, to: program.count, by: max(1, program.count / 50)) {
            try program.prefix(count).write(to: path)
            _ = ELFFile(path: path.path)?.symbols(at: [0x1000, 0x4000])
        }
        // Wrong numbers in the header.
        for place in 16..<64 {
            var broken = program
            broken[place] = 0xFF
            try broken.write(to: path)
            _ = ELFFile(path: path.path)?.symbols(at: [0x1000, 0x4000])
        }
    }
}

@inline(never)
private func plantedFrame() -> [UInt64] {
    var addresses = [UInt64](repeating: 0, count: 16)
    let count = unsafe addresses.withUnsafeMutableBufferPointer {
        unsafe latchkey_system_stack($0.baseAddress, 16)
    }
    return Array(addresses.prefix(Int(count)))
}
