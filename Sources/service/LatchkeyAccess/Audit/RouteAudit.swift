package import LatchkeyFrame
package import LatchkeyHTTP
package import LatchkeyJSON
internal import LatchkeySettings
package import LatchkeyStore
internal import LatchkeyStrategies

/// The origin of a request.
package struct AuditOrigin: Sendable {
    /// The name of the token; nil without one.
    package var token: String?
    package var address: String
    /// The identifier of the request.
    package var identifier: String
    package var trace: TraceParent?

    /// The request must not be answered yet.
    package init(_ request: ServiceRequest) {
        token = request.caller.name
        address = request.exchange.clientAddress.text
        identifier = request.exchange.identifier
        trace = TraceParent(request.exchange)
    }
}

/// The lines that the requests of one route and method have in the audit log.
package final class RouteAudit: RequestAudit {
    private let log: AuditLog
    private let method: String
    private let route: String
    /// The index of the path's segment that is the name in braces; nil without one.
    private let captured: Int?
    private let capturesOperation: Bool

    package init(_ log: AuditLog, _ method: HTTPMethod, _ route: String) {
        self.log = log
        self.method = "\(method.name)"
        self.route = route
        captured = route.split(separator: "/", omittingEmptySubsequences: false)
            .firstIndex { $0.hasPrefix("{") }
        capturesOperation = route.contains("{id}")
    }

    /// Adds the lines of a request that is not answered yet.
    ///
    /// If there are too many refusals, it is only counted.
    package func note(
        _ request: ServiceRequest,
        _ status: HTTPStatus,
        _ fill: (inout AuditDetail) -> Void
    ) {
        var detail = AuditDetail()
        fill(&detail)
        if request.witness?.isRepeat == true { detail.isRepeat = true }
        // A full disk is not a refusal of the client. Requests of unknown callers have the limit of
        // refusals, since any client can send them.
        let isRefusal = status.isRefusal && detail.problem != .diskFull
        if isRefusal || request.caller.isUnknown {
            guard log.admitsRefusal(of: request.caller.client) else { return }
        }
        add(request, AuditOrigin(request), status, detail)
    }

    /// Adds the line of an import whose client has gone: it gets no answer.
    package func noteLoss(_ origin: AuditOrigin, count: Int, revision: Revision?) {
        log.append { json in
            json.origin(origin)
            json.member("method", method)
            json.member("route", route)
            json.imported(count, revision)
            json.member("lost", true)
        }
    }

    private func add(
        _ request: ServiceRequest,
        _ origin: AuditOrigin,
        _ status: HTTPStatus,
        _ detail: AuditDetail
    ) {
        func append(_ body: (inout JSONWriter) -> Void) {
            log.append { json in
                json.origin(origin)
                json.member("method", method)
                json.member("route", route)
                body(&json)
                json.member("status", Int(status.rawValue))
                if let problem = detail.problem { json.member("problem", problem.rawValue) }
                if detail.isRepeat { json.member("repeated", true) }
            }
        }
        if let commit = detail.commit, !commit.isEmpty, !detail.isRepeat {
            for effect in commit.effects {
                append { $0.effect(effect, of: commit) }
            }
        } else if let imported = detail.imported {
            append { $0.imported(imported.count, imported.revision) }
        } else if !detail.operations.isEmpty {
            for operation in detail.operations {
                append { $0.member("operation", operation) }
            }
        } else {
            let name = name(of: request.exchange)
            append { json in
                if let name { json.member(capturesOperation ? "operation" : "name", name) }
                if let (from, to) = detail.strategies {
                    json.member("from", from.rawValue)
                    json.member("to", to.rawValue)
                }
            }
        }
    }

    /// The name in the path of a request, if it is a text that is not longer than a name can be.
    private func name(of exchange: Exchange) -> String? {
        guard let captured else { return nil }
        let segments = exchange.path.split(
            separator: UInt8(ascii: "/"),
            maxSplits: captured + 1,
            omittingEmptySubsequences: false
        )
        guard captured < segments.count else { return nil }
        let segment = segments[captured]
        let place = exchange.path.range(segment.startIndex, segment.endIndex)
        guard let bytes = try? PercentDecoding.decode(place),
            bytes.count <= PropertyName.byteCountMax
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    fileprivate mutating func origin(_ origin: AuditOrigin) {
        member("request", origin.identifier)
        if let token = origin.token { member("token", token) } else { member("token", raw: "null") }
        member("address", origin.address)
        if let trace = origin.trace {
            member("trace", trace.trace)
            member("parent", trace.parent)
        }
    }

    fileprivate mutating func imported(_ count: Int, _ revision: Revision?) {
        member("imported", count)
        if count > 0, let revision { member("revision", revision) }
    }

    package mutating func effect(_ effect: Commit.Effect, of commit: Commit) {
        unsafe member("name", utf8: effect.nameBytes)
        member("revision", commit.revision)
        if effect.property == nil { member("removed", true) }
    }
}

extension RequestSeries {
    /// The lines of the requests; nil without an audit log.
    package var lines: RouteAudit? { routeAudit.flatMap { $0 as? RouteAudit } }
}
