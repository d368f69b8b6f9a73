internal import Foundation
internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore
internal import LatchkeyStrategies
internal import LatchkeyWatches

/// The route of the sorted list of properties.
struct ListRoutes: Sendable {
    /// A page with values ends after the value that makes it longer than this.
    static let byteCountMax = 4 * 1024 * 1024

    private static let nameCountMax = 128

    let store: ServedProperties
    let watched: WatchedHistory

    func add(to table: inout RouteTable) {
        table.add(
            .get,
            "/v1/properties",
            .read,
            needs: .token,
            statuses: [200, 400, 503]
        ) { request, _ throws(RequestFailure) in
            try list(request)
        }
        table.add(
            .get,
            "/v1/count",
            .read,
            needs: .token,
            statuses: [200, 400, 503]
        ) { request, _ throws(RequestFailure) in
            try count(request)
        }
    }

    /// How many names a thread visits for one client before others have their turns.
    private static let pieceUnits = 1000

    private func count(_ request: ServiceRequest) throws(RequestFailure) {
        let query = try request.query(["prefix"])
        let prefix = OwnedBytes(try request.prefix(query["prefix"], .read))
        store.count(prefix: prefix, Ask(at: CallSite(), timing: request.timing)) { counted in
            switch counted {
            case .count(let count, let revision): Self.answer(request, count, revision)
            case .unread(let reading, let revision):
                read(reading, request, request.exchange.presence()) {
                    Self.answer(request, $0.count, revision)
                }
            }
        }
    }

    private static func answer(_ request: ServiceRequest, _ count: Int, _ revision: Revision) {
        var json = JSONWriter()
        json.object { json in
            json.member("count", count)
            json.member("revision", revision)
        }
        request.respond(json: json, revision: revision)
    }

    /// Reads piece by piece, in turns with other clients, and answers after the last piece.
    private func read<Reading: PiecewiseReading>(
        _ reading: Reading,
        _ request: ServiceRequest,
        _ presence: Presence,
        then answer: @escaping @Sendable (Reading) -> Void
    ) {
        watched.later(for: request.client) {
            guard !presence.isOver else { return request.answerInVain() }
            var reading = reading
            guard reading.read(unitsMax: Self.pieceUnits) else {
                return read(reading, request, presence, then: answer)
            }
            answer(reading)
        }
    }

    private func list(_ request: ServiceRequest) throws(RequestFailure) {
        var names: [String] = []
        let query = try request.query(["prefix", "limit", "after", "values", "delimiter", "name"]) {
            key,
            value in
            if key == "name" {
                names.append(value)
            }
            return key == "name"
        }
        guard names.isEmpty else {
            return try list(request, names, query)
        }
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
            byteCountMax: includesValues ? Self.byteCountMax : .max,
            delimiter: try query["delimiter"].map(Self.delimiter)
        )
        guard page.delimiter != nil else {
            return answer(request, page, includesValues: includesValues)
        }
        let presence = request.exchange.presence()
        store.takeSnapshotToList(.here()) { snapshot in
            // Each folder is passed over in all stripes.
            read(PageReading(page, snapshot), request, presence) { reading in
                Self.answer(request, reading.page, includesValues: includesValues)
            }
        }
    }

    /// Lists the properties that have these names.
    private func list(
        _ request: ServiceRequest,
        _ names: [String],
        _ query: [String: String]
    ) throws(RequestFailure) {
        guard query.keys.allSatisfy({ $0 == "values" }) else {
            throw RequestFailure(.invalidQuery, "Beside name, only values can be given.")
        }
        guard names.count <= Self.nameCountMax else {
            throw RequestFailure(
                .invalidQuery,
                "name can be given at most \(Self.nameCountMax) times."
            )
        }
        var wanted: [PropertyName] = []
        for name in names {
            let name = try ServiceRequest.name(name)
            try request.require(.read, name)
            wanted.append(name)
        }
        let includesValues = try Query.flag(query["values"], name: "values", default: true)
        answer(request, PageRequest(names: wanted), includesValues: includesValues)
    }

    private func answer(_ request: ServiceRequest, _ page: PageRequest, includesValues: Bool) {
        read(page, request) { Self.answer(request, $0, includesValues: includesValues) }
    }

    /// Reads a page, and then answers.
    func read(
        _ page: PageRequest,
        _ request: ServiceRequest,
        then answer: @escaping @Sendable (Page) -> Void
    ) {
        store.list(page, Ask(at: CallSite(), timing: request.timing)) { page in
            guard let unread = page.unread else { return answer(page) }
            read(unread, request, request.exchange.presence()) { answer($0.page) }
        }
    }

    private static func answer(_ request: ServiceRequest, _ page: Page, includesValues: Bool) {
        request.respond(
            json: page.json(includesValues: includesValues),
            revision: page.revision
        )
    }

    private static func delimiter(_ text: String) throws(RequestFailure) -> UInt8 {
        guard text.utf8.count == 1, let byte = text.utf8.first, (0x20...0x7E).contains(byte) else {
            throw RequestFailure(.invalidQuery, "delimiter must be one ASCII character.")
        }
        return byte
    }
}

/// The start of the next page: the last name of a page in base64url (RFC 4648, section 5), or the
/// end of its last folder, which is a byte longer than a name can be.
///
/// The encoding discourages clients from making up cursors.
private enum Cursor {
    static func text(_ name: [UInt8]) -> String {
        let text = Data(name).base64EncodedData().filter { $0 != UInt8(ascii: "=") }
        return String(decoding: text.map { exchange($0, Self.standard, Self.safe) }, as: UTF8.self)
    }

    private static let standard = Array("+/".utf8)
    private static let safe = Array("-_".utf8)

    private static func exchange(_ byte: UInt8, _ old: [UInt8], _ new: [UInt8]) -> UInt8 {
        old.firstIndex(of: byte).map { new[$0] } ?? byte
    }

    static func name(_ text: String) throws(RequestFailure) -> [UInt8] {
        let padding = repeatElement(UInt8(ascii: "="), count: (4 - text.utf8.count % 4) % 4)
        let base64 = Data(text.utf8.map { exchange($0, Self.safe, Self.standard) } + padding)
        guard !text.contains("="), let name = Data(base64Encoded: base64), !name.isEmpty,
            name.count <= PropertyName.byteCountMax + 1
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
            if !folders.isEmpty {
                page.array("folders") { list in
                    for folder in folders {
                        list.string(folder)
                    }
                }
            }
            if let next {
                page.member("next", Cursor.text(next))
            }
        }
        return json
    }
}
