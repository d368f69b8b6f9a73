import Foundation
import LatchkeyJSON

/// A JSON value as Foundation reads it, to compare with what the store reads.
indirect enum JSONModel: Hashable, Decodable {
    case object([String: JSONModel])
    case array([JSONModel])
    case string(String)
    case number(Double)
    case boolean(Bool)
    case null

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let boolean = try? value.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSONModel].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSONModel].self))
        }
    }

    init(reading text: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(JSONModel.self, from: Data(text))
    }

    /// The algorithm of RFC 7396, section 2, as it stands there.
    func merged(with patch: JSONModel) -> JSONModel {
        guard case .object(let changes) = patch else { return patch }
        var members: [String: JSONModel] = [:]
        if case .object(let own) = self {
            members = own
        }
        for (name, value) in changes {
            members[name] = value == .null ? nil : (members[name] ?? .null).merged(with: value)
        }
        return .object(members)
    }
}

extension JSONModel {
    private static let names = ["a", "b", "é", "\"", "n\n", "😀", "", "longer than eight", "\\u"]

    /// A value that nests at most this deep, of few names and scalars, so that two often agree.
    static func random(depth: Int, _ random: inout some RandomNumberGenerator) -> JSONModel {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 4), using: &random) {
        case 0: return .null
        case 1: return .boolean(.random(using: &random))
        case 2: return .number([0, 1, -2, 10, 0.5, 1200][.random(in: 0..<6, using: &random)])
        case 3: return .string(names[.random(in: 0..<names.count, using: &random)])
        case 4:
            return .array(
                (0..<Int.random(in: 0..<4, using: &random)).map { _ in
                    Self.random(depth: depth - 1, &random)
                }
            )
        default:
            var members: [String: JSONModel] = [:]
            // Now and then more members than are searched one after the other.
            let isLarge = Int.random(in: 0..<8, using: &random) == 0
            for number in 0..<Int.random(in: 0..<(isLarge ? 40 : 5), using: &random) {
                let name = isLarge ? "m\(number)" : names[.random(in: 0..<9, using: &random)]
                members[name] = Self.random(depth: isLarge ? min(1, depth - 1) : depth - 1, &random)
            }
            return .object(members)
        }
    }

    /// A text of the value, spelled at random.
    ///
    /// With duplicates, members are preceded by others of the same name.
    func text(duplicates: Bool = false, _ random: inout some RandomNumberGenerator) -> String {
        func space() -> String {
            ["", "", "", " ", "\n\t"][.random(in: 0..<5, using: &random)]
        }
        switch self {
        case .null: return "null"
        case .boolean(let boolean): return "\(boolean)"
        case .number(let number):
            let spellings = [
                "\(number)", "\(number)0", "\(number * 10)e-1", "\(number / 100)E+02",
            ]
            return spellings[.random(in: 0..<4, using: &random)]
        case .string(let string): return Self.spell(string, &random)
        case .array(let elements):
            let texts = elements.map {
                space() + $0.text(duplicates: duplicates, &random) + space()
            }
            return "[" + (texts.isEmpty ? space() : texts.joined(separator: ",")) + "]"
        case .object(let members):
            var texts: [String] = []
            func add(_ name: String, _ text: String) {
                texts.append(
                    space() + Self.spell(name, &random) + space() + ":" + space() + text + space()
                )
            }
            let sorted = members.sorted { $0.key < $1.key }.shuffled(using: &random)
            for (name, _) in sorted where duplicates && Bool.random(using: &random) {
                add(name, JSONModel.random(depth: 1, &random).text(&random))
            }
            for (name, value) in sorted {
                add(name, value.text(duplicates: duplicates, &random))
            }
            return "{" + (texts.isEmpty ? space() : texts.joined(separator: ",")) + "}"
        }
    }

    private static func spell(
        _ string: String,
        _ random: inout some RandomNumberGenerator
    ) -> String {
        var text = "\""
        for character in string.unicodeScalars {
            if Bool.random(using: &random), character.value >= 0x20, character != "\"",
                character != "\\"
            {
                text.unicodeScalars.append(character)
            } else {
                for unit in String(character).utf16 {
                    text += String(
                        format: Bool.random(using: &random) ? "\\u%04x" : "\\u%04X",
                        unit
                    )
                }
            }
        }
        return text + "\""
    }
}

/// Runs the body with the view of a text, which is checked first.
@discardableResult
func withJSON<Result>(_ text: String, _ body: (JSONView) throws -> Result) throws -> Result {
    try withJSON(Array(text.utf8), body)
}

@discardableResult
func withJSON<Result>(_ bytes: [UInt8], _ body: (JSONView) throws -> Result) throws -> Result {
    try unsafe bytes.withUnsafeBytes { bytes in
        try unsafe JSONText.check(bytes, depthMax: 100_000)
        return try unsafe body(JSONView(bytes))
    }
}

extension JSONView {
    /// The bytes of the value as a string.
    var spelling: String { unsafe String(decoding: bytes, as: UTF8.self) }
}
