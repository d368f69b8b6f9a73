internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyJSON
internal import LatchkeyOperations
internal import LatchkeyStore

extension AuditLog {
    /// Adds the lines of a write of a step of an operation, or of a failed one.
    func note(_ write: OperationWrite) {
        switch write.outcome {
        case .committed(let commit):
            if commit.isEmpty {
                append(write, status: 200) { _ in }
            }
            for effect in commit.effects {
                append(write, status: 200) { $0.effect(effect, of: commit) }
            }
        case .imported(let count, let revision):
            append(write, status: 200) { json in
                json.member("imported", count)
                json.member("revision", revision)
            }
        case .failed(let failure):
            guard let problem = failure.code else { return }
            append(write, status: problem.status) { json in
                if let name = write.name { unsafe json.member("name", utf8: name.bytes) }
                json.member("problem", problem.rawValue)
            }
        }
    }

    private func append(
        _ write: OperationWrite,
        status: Int,
        _ body: (inout JSONWriter) -> Void
    ) {
        append { json in
            json.member("operation", write.id.text)
            if let owner = write.owner {
                json.member("token", owner)
            } else {
                json.member("token", raw: "null")
            }
            if let origin = write.origin {
                json.member("address", origin.address)
                if let trace = origin.traceparent.flatMap({ TraceParent(Array($0.utf8)) }) {
                    json.member("trace", trace.trace)
                    json.member("parent", trace.parent)
                }
            }
            body(&json)
            json.member("status", status)
        }
    }
}
