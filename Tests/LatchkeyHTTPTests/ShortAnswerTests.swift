import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

/// Short answers use an object of their connection again, which must not show.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ShortAnswerTests {
    private static let seed: UInt64 = 20

    @Test(arguments: TestServer.Mode.allCases)
    func `an answer has nothing of the one before it`(mode: TestServer.Mode) async throws {
        try await serving(mode) { _, client in
            var random = SeededGenerator(Self.seed)
            for turn in 0..<400 {
                let fields = AnswerFields(&random)
                let reply = client.ask(get("/fields?\(fields.text)"))
                let lines = reply.head.split(separator: "\r\n")
                    .filter { $0.hasPrefix("X-") && !$0.hasPrefix("X-Content-Type-Options: ") }
                #expect(
                    lines.map(String.init) == fields.lines && reply.text == fields.text,
                    "turn \(turn) of seed \(Self.seed)"
                )
                #expect(reply.field("Content-Length") == "\(fields.text.utf8.count)")
            }
        }
    }

    @Test(arguments: TestServer.Mode.allCases)
    func `a field that is not valid is refused, and leaves the next answer whole`(
        mode: TestServer.Mode
    ) async throws {
        try await serving(mode) { server, client in
            for (target, status, field, value) in [
                ("/now", 200, "Retry-After", "0"), ("/bad-field", 500, "Retry-After", nil),
                ("/now", 200, "Retry-After", "0"), ("/later", 200, "Retry-After", nil),
                ("/now", 200, "Retry-After", "0"), ("/fields?Aab", 200, "X-A", "ab"),
                // The server makes a line feed of it; the length is the same.
                ("/fields?A~b", 500, "X-A", nil),
            ] as [(String, Int, String, String?)] {
                let reply = client.ask(get(target))
                #expect(reply.status == status && reply.field(field) == value, "\(target)")
                #expect(!reply.head.contains("Forged"))
            }
        }
    }

    @Test
    func `known fields are found in any case, and no others`() async throws {
        try await serving(.oneEventLoop) { _, client in
            for (text, _) in FieldName.allKnown {
                for name in [text, text.uppercased(), text.capitalized] {
                    let reply = client.ask(get("/known", "\(name): 1\r\n"))
                    #expect(reply.text == text, "\(name)")
                }
                // A dash is not the control character that differs from it in the bit of the case.
                let others = [
                    String(text.dropLast()), text + "x", "x" + text.dropFirst(),
                    text.dropLast() + "_", text.replacing("-", with: "_"),
                ]
                for name in others where name != text {
                    let reply = client.ask(get("/known", "\(name): 1\r\n"))
                    #expect(reply.status == 200 && reply.text.isEmpty, "\(name)")
                }
            }
        }
    }
}

extension FieldName {
    /// The known fields that Swift can ask for.
    static let allKnown: [(text: String, name: FieldName)] = [
        ("content-encoding", .contentEncoding), ("content-range", .contentRange),
        ("content-type", .contentType), ("idempotency-key", .idempotencyKey),
        ("if-match", .ifMatch), ("if-none-match", .ifNoneMatch),
    ]
}

extension String {
    fileprivate var capitalized: String {
        split(separator: "-").map { $0.prefix(1).uppercased() + $0.dropFirst() }
            .joined(separator: "-")
    }
}

/// The header fields of an answer: of `A12B3` these are `X-A: 12` and `X-B: 3`.
struct AnswerFields {
    private static let names: [(letter: Character, name: StaticString)] = [
        ("A", "X-A"), ("B", "X-B"), ("C", "X-C"), ("D", "X-D"), ("E", "X-E"), ("F", "X-F"),
        ("G", "X-G"), ("H", "X-H"), ("I", "X-I"),
    ]

    private(set) var pairs: [(letter: Character, value: String)] = []

    init(_ text: String) {
        for character in text {
            if character.isUppercase {
                pairs.append((character, ""))
            } else if !pairs.isEmpty {
                pairs[pairs.count - 1].value.append(character == "~" ? "\n" : character)
            }
        }
    }

    /// Up to nine fields, some of them twice, with values of few lengths.
    init(_ random: inout SeededGenerator) {
        for (letter, _) in Self.names.prefix(Int.random(in: 0...9, using: &random)) {
            guard Int.random(in: 0..<8, using: &random) > 0 else { continue }
            let value = String(Int.random(in: 1...120, using: &random))
            pairs.append((letter, value))
            if Int.random(in: 0..<16, using: &random) == 0 {
                pairs.append((letter, value + "0"))
            }
        }
    }

    var text: String { pairs.map { "\($0.letter)\($0.value)" }.joined() }

    var lines: [String] { pairs.map { "X-\($0.letter): \($0.value)" } }

    func add(to fields: inout ResponseFields) {
        for (letter, value) in pairs {
            if let known = Self.names.first(where: { $0.letter == letter }) {
                fields.add(known.name, text: value)
            }
        }
    }
}
