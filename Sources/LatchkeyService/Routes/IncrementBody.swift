internal import Foundation
internal import LatchkeyHTTP

extension Call {
    /// What an increment adds: 1 without a body, else the member `by` of the body's object.
    func incrementStep(depthMax: Int) throws(RequestFailure) -> Int64 {
        guard !exchange.body.isEmpty else {
            return 1
        }
        try jsonBody(depthMax: depthMax)
        do {
            return try JSONDecoder().decode(IncrementBody.self, from: Data(exchange.body)).by
        } catch {
            throw RequestFailure(.invalidBody)
        }
    }
}

/// `{"by": 5}`, with no other member.
private struct IncrementBody: Decodable {
    let by: Int64

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) {
            self.stringValue = stringValue
        }

        init?(intValue: Int) {
            nil
        }
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: Key.self)
        let by = Key(stringValue: "by")
        guard members.allKeys.map(\.stringValue) == [by.stringValue] else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "unknown members")
            )
        }
        self.by = try members.decode(Int64.self, forKey: by)
    }
}
