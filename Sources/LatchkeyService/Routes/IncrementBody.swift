internal import Foundation
internal import LatchkeyHTTP

extension ServiceRequest {
    /// The number to add: the member `by` of the body, or 1 without a body.
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

/// An object with the single member `by`, such as `{"by": 5}`.
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
