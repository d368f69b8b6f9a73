internal import Foundation
internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The route of the sorted list of properties.
struct ListRoutes: Sendable {
    /// A page with values ends behind the one that makes it longer than this.
    private static let byteCountMax = 4 * 1024 * 1024

    let store: ServedStore

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/properties", needs: .token, statuses: [200, 400, 503]) {
            request,
            _ throws(RequestFailure) in
            try list(request)
        }
    }

    private func list(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["prefix", "limit", "after", "values"])
        let prefix = OwnedBytes(try request.prefix(query["prefix"], .read))
        let after = try query["after"].map { (text) throws(RequestFailure) in
            OwnedBytes(try Cursor.name(text))
        }
        let limit = try ServiceRequest.limit(
            query["limit"],
            default: PageRequest.limitDefault,
            max: PageRequest.limitMax
        )
        let includesValues = try Query.flag(query["values"], name: "values", default: true)
        let page = PageRequest(
            prefix: prefix,
            after: after,
            limit: limit,
            byteCountMax: includesValues ? Self.byteCountMax : .max
        )
        let observer = TimingObserver(timing: request.timing, site: CallSite())
        store.list(page, observer) { page in
            request.respond(json: page.json(includesValues: includesValues))
        }
    }
}

/// The start of the next page: the last name of a page in base64url (RFC 4648, section 5).
///
/// The encoding keeps clients from making up cursors.
private enum Cursor {
    static func text(_ name: UnsafeRawBufferPointer) -> String {
        unsafe Data(name).base64EncodedString()
            .replacing("+", with: "-")
            .replacing("/", with: "_")
            .replacing("=", with: "")
    }

    static func name(_ text: String) throws(RequestFailure) -> [UInt8] {
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        let base64 = text.replacing("-", with: "+").replacing("_", with: "/") + padding
        guard !text.contains("="), let name = Data(base64Encoded: base64), !name.isEmpty,
            name.count <= PropertyName.byteCountMax
        else {
            throw RequestFailure(.invalidQuery, "after must be the `next` of an earlier page.")
        }
        return Array(name)
    }
}

extension Page {
    fileprivate func json(includesValues: Bool) -> JSONWriter {
        var json = JSONWriter(refersToValues: true)
        json.object { page in
            page.member("revision", revision)
            page.array("properties") { list in
                for property in properties {
                    list.object { member in
                        unsafe member.member("name", utf8: property.nameBytes)
                        member.member("revision", property.revision)
                        member.member("created", property.created)
                        member.ttl(until: property.expiry, at: time)
                        if includesValues {
                            member.member("value", valueOf: property)
                        }
                    }
                }
            }
            if hasMore, let last = properties.last {
                page.member("next", unsafe Cursor.text(last.nameBytes))
            }
        }
        return json
    }
}
