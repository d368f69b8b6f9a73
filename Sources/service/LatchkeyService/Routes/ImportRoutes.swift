internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The route of imports: lines of JSON that are put in batches.
struct ImportRoutes: Sendable {
    private static let batchLineCountDefault = 128
    private static let batchLineCountMax = 1000

    let store: ServedProperties
    let depthMax: Int
    let lineByteCountMax: Int
    let unitsMax: Int
    let batchByteCountMax: Int
    /// The places of long buffers.
    let places: SharedPlaces

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/import",
            .streamedChange,
            needs: .right(.import),
            statuses: [200, 400, 415, 503, 507],
            checkHead: { request, _ throws(RequestFailure) in
                do throws(RequestFailure) {
                    request.exchange.readBody(with: try makeImport(request))
                } catch {
                    // A client that asks before it sends the body need not send it.
                    guard !request.exchange.hasHeader(named: "expect") else { throw error }
                    request.exchange.readBody(with: RefusedImport(request, error))
                }
            },
            handle: { request, _ throws(RequestFailure) in
                switch request.exchange.bodyReader {
                case let reader as Import: reader.finish()
                case let refused as RefusedImport: throw refused.failure
                // A request without a body gets no call at its head.
                default: try makeImport(request).finish()
                }
            }
        )
    }

    private func makeImport(_ request: ServiceRequest) throws(RequestFailure) -> Import {
        let query = try request.query(["batch", "partial"])
        try request.bodyIsLines()
        return Import(
            request,
            store: store,
            isPartial: try Query.flag(query["partial"], name: "partial", default: false),
            limits: ImportLimits(
                batchLineCount: try Self.batchLineCount(query["batch"]),
                lineByteCountMax: lineByteCountMax,
                depthMax: depthMax,
                unitsMax: unitsMax,
                byteCountMax: batchByteCountMax
            ),
            places: places
        )
    }

    private static func batchLineCount(_ text: String?) throws(RequestFailure) -> Int {
        guard let text else {
            return batchLineCountDefault
        }
        guard let count = Int(text), (1...batchLineCountMax).contains(count) else {
            throw RequestFailure(
                .invalidQuery,
                "batch must be a whole number from 1 to \(batchLineCountMax)."
            )
        }
        return count
    }
}

/// Refuses an import because of its head, after a body of any length: otherwise a long body would
/// get 413, the wrong reason.
private final class RefusedImport: BodyReader {
    private let request: ServiceRequest
    let failure: RequestFailure

    init(_ request: ServiceRequest, _ failure: RequestFailure) {
        (self.request, self.failure) = (request, failure)
    }

    func take(_ piece: Bytes, of exchange: Exchange) -> BodyProgress {
        request.fail(failure)
        return .more
    }

    func lose(_ reason: BodyLoss) {}
}

extension ServiceRequest {
    /// Checks that the body, if it has a media type, is JSON by lines, and that it has no content
    /// coding.
    ///
    /// Lines that are not JSON are found one by one.
    fileprivate func bodyIsLines() throws(RequestFailure) {
        _ = try mediaType(
            MediaType.isJSONLines,
            detail: "Send Content-Type: application/x-ndjson, or none."
        )
        try noContentCoding()
    }
}
