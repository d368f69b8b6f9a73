internal import Foundation
internal import LatchkeyHTTP

/// An idempotency key and the answer to its request, as they are stored with the commit.
///
/// A repeat after a restart gets this answer.
struct RepetitionNote: Codable, Sendable {
    /// A longer answer is not stored: a repeat after a restart is told so.
    static let bodyByteCountMax = 64 * 1024

    let key: Data
    let client: ClientKey
    let fingerprint: Data
    let status: UInt16
    /// Names and values of the header fields.
    let fields: [[String]]
    let body: Data

    init(
        _ key: [UInt8],
        _ client: ClientKey,
        _ fingerprint: RequestFingerprint,
        _ answer: KeptAnswer
    ) {
        self.key = Data(key)
        self.client = client
        self.fingerprint = Data(fingerprint.bytes)
        status = answer.status
        fields = answer.fields.map { ["\($0.name)", $0.value] }
        body = Data(answer.body)
    }

    /// Reads a note; nil if the bytes are none of this version.
    init?(_ bytes: [UInt8]) {
        guard let note = try? JSONDecoder().decode(Self.self, from: Data(bytes)),
            note.fingerprint.count == RequestFingerprint.byteCount,
            note.fields.allSatisfy({ $0.count == 2 && $0[1].utf8.allSatisfy(Self.isVisible) }),
            (200..<600).contains(note.status), KeptAnswer.keeps(HTTPStatus(rawValue: note.status)),
            note.body.count <= Self.bodyByteCountMax
        else {
            return nil
        }
        self = note
    }

    /// Whether a field's value can have the byte: with a line end it would be another field.
    private static func isVisible(_ byte: UInt8) -> Bool { (0x20..<0x7F).contains(byte) }

    var encoded: [UInt8] {
        guard let json = try? JSONEncoder().encode(self) else {
            preconditionFailure("Numbers, texts and bytes can be written as JSON.")
        }
        return Array(json)
    }

    var answer: KeptAnswer {
        KeptAnswer(
            status: status,
            fields: fields.compactMap { field in
                Self.names.first { "\($0)" == field[0] }
                    .map { ResponseField(name: $0, value: field[1]) }
            },
            body: Array(body)
        )
    }

    /// The fields of answers to changes, since a field's name is a constant of the program.
    static let names: [StaticString] = [
        "Content-Type", "ETag", "Latchkey-Created", "Latchkey-TTL",
    ]
}
