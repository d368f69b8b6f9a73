internal import Foundation
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The route to the sorted list of properties.
struct ListRoutes<Store: CommittingStore>: Sendable {
    let store: Store

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/properties", statuses: [200, 400]) { call, _ throws(RequestFailure) in
            try list(call)
        }
    }

    private func list(_ call: Call) throws(RequestFailure) {
        let query = try call.query(["prefix", "limit", "after", "values"])
        let prefix = OwnedBytes(Array((query["prefix"] ?? "").utf8))
        guard unsafe prefix.bytes.count <= PropertyName.byteCountMax else {
            throw RequestFailure(
                .invalidQuery,
                "prefix has at most \(PropertyName.byteCountMax) bytes."
            )
        }
        let after = try query["after"].map { (text) throws(RequestFailure) in
            OwnedBytes(try Cursor.name(text))
        }
        let limit = try Self.limit(query["limit"])
        let includesValues = try Query.flag(query["values"], name: "values", default: true)
        let request = PageRequest(prefix: prefix, after: after, limit: limit)
        store.list(request, observer: TimingObserver(timing: call.timing)) { page in
            call.respond(json: page.json(includesValues: includesValues))
        }
    }

    private static func limit(_ text: String?) throws(RequestFailure) -> Int {
        guard let text else {
            return PageRequest.limitDefault
        }
        guard let limit = Int(text), (1...PageRequest.limitMax).contains(limit) else {
            throw RequestFailure(
                .invalidQuery,
                "limit is a whole number from 1 to \(PageRequest.limitMax)."
            )
        }
        return limit
    }
}

/// Where the next page begins: the last name of a page, in base64url (RFC 4648 section 5), so that
/// clients pass it on and do not make one up.
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
            throw RequestFailure(.invalidQuery, "after is the next of an earlier page.")
        }
        return Array(name)
    }
}

extension Page {
    fileprivate func json(includesValues: Bool) -> [UInt8] {
        var json = JSONWriter()
        json.object { page in
            page.member("revision", revision)
            page.array("properties") { list in
                for property in properties {
                    list.object { member in
                        unsafe member.member("name", utf8: property.nameBytes)
                        member.member("revision", property.revision)
                        member.member("created", property.created)
                        if includesValues {
                            unsafe member.member("value", rawJSON: property.valueBytes)
                        }
                    }
                }
            }
            if hasMore, let last = properties.last {
                page.member("next", unsafe Cursor.text(last.nameBytes))
            }
        }
        return json.bytes
    }
}
