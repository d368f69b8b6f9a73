import LatchkeyCommandLine
import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient
@testable import latchkey

/// The arguments of the commands.
struct ArgumentTests {
    private static func values(
        _ command: any ClientCommand,
        _ arguments: [String],
        _ environment: [String: String] = [:]
    ) throws -> FlagValues {
        try command.values(arguments) { environment[$0] }
    }

    @Test func `a dash, negative numbers and all after two dashes are operands`() throws {
        #expect(try Self.values(OneRequest.put, ["a", "-"]).operands == ["a", "-"])
        #expect(try Self.values(OneRequest.put, ["a", "-5"]).operands == ["a", "-5"])
        #expect(try Self.values(OneRequest.put, ["--", "--a", "-b"]).operands == ["--a", "-b"])
        #expect(throws: ClientFailure.self) { try Self.values(OneRequest.put, ["a", "-b"]) }
        #expect(throws: ClientFailure.self) { try Self.values(OneRequest.count, ["a", "b"]) }
        #expect(throws: ClientFailure.self) {
            try Self.values(OneRequest.count, ["--", "a", "b"])
        }
    }

    @Test(arguments: 0..<20)
    func `operands come as they are, wherever the flags stand`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        for _ in 0..<50 {
            let operands = [random.text(), random.text()]
            let flags = ["--ttl=5", "--json"].shuffled(using: &random)
            let rest = ["--"] + operands
            let values = try Self.values(OneRequest.put, flags + rest)
            #expect(values.operands == operands)
            #expect(values.isOn("json"))
            #expect(values.seconds("ttl") == "5")
        }
    }

    @Test(arguments: 0..<10)
    func `prefixes come one by one, with commas and spaces in them`(seed: UInt64) throws {
        var random = SeededGenerator(seed)
        let prefixes = (0..<4).map { _ in random.text(1...9) + ", " + random.text(1...9) }
        let arguments = prefixes.flatMap { ["--prefix", $0] }
        #expect(try Self.values(WatchCommand(), arguments).list("prefix") == prefixes)
    }

    @Test func `no variable changes what one call does`() throws {
        let environment = ["LATCHKEY_PREFIX": "a/", "LATCHKEY_JSON": "x", "LATCHKEY_TTL": "1"]
        for command in Latchkey.clientCommands {
            let values = try Self.values(command, [], environment)
            #expect(command.ownFlags.allSatisfy { !values.isGiven($0.name) }, "\(command.name)")
        }
    }

    @Test func `a value that is not JSON is shown as a string would be`() throws {
        let error = #expect(throws: ClientFailure.self) { try ClientInput.json(#"say "hi""#) }
        #expect(error?.status == .usage)
        #expect(error?.message.contains(#"'"say \"hi\""'"#) == true, "\(error?.message ?? "")")
        #expect(try ClientInput.json(#"say "hi""#, isString: true) == Array(#""say \"hi\"""#.utf8))
        #expect(try ClientInput.json(" {\"a\" : 1}\n") == Array("{\"a\" : 1}".utf8))
    }

    @Test func `conditions and times become parts of the request`() throws {
        let values = try Self.values(
            OneRequest.put,
            ["a", "1", "--if-revision", "7", "--ttl", "1.5", "--idempotency-key", "k"]
        )
        var request = ClientRequest(.put, property: "a")
        try request.add(values, OneRequest.put.ownFlags)
        #expect(request.target == "/v1/properties/a?ttl=1.500")
        #expect(request.fields.sorted() == ["Idempotency-Key: k", "If-Match: \"7\""])
        #expect(request.isRepeatable)
        let both = try Self.values(OneRequest.put, ["a", "1", "--ttl=1", "--ttl-if-new=1"])
        #expect(throws: ClientFailure.self) { try request.add(both, OneRequest.put.ownFlags) }
    }

    @Test func `each manual names all flags, and fits 80 columns`() {
        for command in Latchkey.clientCommands {
            for flag in command.flags { #expect(command.manual.contains("--\(flag.name)")) }
            for line in command.manual.split(separator: "\n") {
                #expect(line.count <= 80, "\(command.name): \(line)")
            }
        }
    }
}
