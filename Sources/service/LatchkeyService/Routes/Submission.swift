internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyOperations
internal import LatchkeyStore

/// The answer to a request that submits operations; a repeat of it gets the same answer.
///
/// It is kept as a byte that no decision begins with, the number of operations and their
/// identifiers, whether they were sent as a list, and the body.
struct Submission {
    /// ``KeptDecision`` has other kinds.
    private static let kind: UInt8 = 3

    private let ids: [String]
    private let isList: Bool
    private let body: [UInt8]

    init(_ accepted: [OperationSnapshot], isList: Bool) {
        ids = accepted.map(\.id.text)
        self.isList = isList
        var json = JSONWriter()
        if isList {
            json.page(accepted, next: nil)
        } else {
            json.operation(accepted[0], includesValue: true)
        }
        body = json.bytes
    }

    /// Nil if something else was kept.
    init?(_ kept: KeptDecision) {
        var reader = BinaryReader(OwnedBytes(kept.bytes))
        do throws(InvalidChange) {
            guard try reader.byte() == Self.kind else { return nil }
            var ids: [String] = []
            for _ in 0..<(try reader.count()) {
                ids.append(unsafe String(decoding: try reader.bytes(), as: UTF8.self))
            }
            (self.ids, isList) = (ids, try reader.flag())
            body = unsafe Array(try reader.bytes())
        } catch {
            return nil
        }
    }

    var kept: KeptDecision {
        var writer = BinaryWriter()
        writer.bytes.append(Self.kind)
        writer.add(UInt64(ids.count))
        for id in ids { writer.add(Array(id.utf8)) }
        writer.bytes.append(isList ? 1 : 0)
        writer.add(body)
        return KeptDecision(writer.bytes)
    }

    func respond(to request: ServiceRequest) {
        request.respond(.accepted, body: .bytes(body)) { answer in
            answer.add("Content-Type", "application/json")
            if !isList { answer.add("Location", text: "/v1/operations/\(ids[0])") }
        } audit: {
            $0.operations = ids
        }
    }
}
