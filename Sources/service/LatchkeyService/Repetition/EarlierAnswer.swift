internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The note of a commit that 0.1 made: an idempotency key, and the whole answer to its request.
///
/// A repeat after an upgrade gets this answer. In the ``IdentityTable`` the note is in the place of
/// a decision, which begins with another byte.
struct EarlierAnswer: Codable, Sendable {
    private let key: Data
    private let client: ClientKey
    private let fingerprint: Data
    let status: UInt16
    /// Names and values of the header fields.
    let fields: [[String]]
    private let body: Data

    /// Reads a note; nil if the bytes are not a note of 0.1.
    init?(_ bytes: [UInt8]) {
        guard bytes.first == UInt8(ascii: "{"),
            let note = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
            RequestIdentity(key: Array(note.key), fingerprint: Array(note.fingerprint)).isPossible,
            note.fields.allSatisfy({ $0.count == 2 && $0[1].utf8.allSatisfy(Self.isVisible) }),
            (200...500).contains(note.status), ![401, 403, 429].contains(note.status),
            note.body.count <= IdentityTable.answerByteCountMax
        else { return nil }
        self = note
    }

    /// Whether a field's value can have the byte: a line end would begin another field.
    private static func isVisible(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }

    /// The record of a note for the table, with the bytes of the note.
    static func record(_ bytes: [UInt8], at time: Timestamp) -> IdentityRecord? {
        guard let note = Self(bytes) else { return nil }
        return IdentityRecord(
            identity: RequestIdentity(key: Array(note.key), fingerprint: Array(note.fingerprint)),
            time: time,
            answer: KeptDecision(bytes),
            owner: note.client.owner
        )
    }

    /// Answers a repeat.
    func respond(to request: ServiceRequest) {
        // A repeat changes nothing, so that it can be refused.
        request.respond(
            HTTPStatus(rawValue: status),
            body: .bytes(Array(body)),
            bound: .refuses
        ) { answer in
            for field in fields {
                if let name = Self.names.first(where: { "\($0)" == field[0] }) {
                    answer.add(name, text: field[1])
                }
            }
        }
    }

    /// The fields of answers to changes, because a field's name must be a constant of the program.
    private static let names: [StaticString] = [
        "Content-Type", "ETag", "Latchkey-Created", "Latchkey-TTL",
    ]
}
