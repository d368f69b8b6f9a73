internal import LatchkeyHTTP
internal import LatchkeyStore

/// The route of imports: lines of JSON that are put in batches.
struct ImportRoutes: Sendable {
    private static let batchLineCountDefault = 128
    private static let batchLineCountMax = 1000

    let store: ServedStore
    let depthMax: Int
    let lineByteCountMax: Int
    let unitsMax: Int
    /// Of long buffers.
    let places: SharedPlaces

    func add(to table: inout RouteTable) {
        table.add(
            .post,
            "/v1/import",
            needs: .right(.import),
            statuses: [200, 400, 415, 503, 507],
            checkHead: { request, _ throws(RequestFailure) in
                request.exchange.readBody(with: try makeImport(request))
            },
            handle: { request, _ throws(RequestFailure) in
                // A request without a body gets no call at its head.
                let reader = request.exchange.bodyReader as? Import
                if let reader {
                    reader.finish()
                } else {
                    try makeImport(request).finish()
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
                unitsMax: unitsMax
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

extension ServiceRequest {
    /// Checks that the body, if it has a media type, is JSON by lines, and that it has no content
    /// coding.
    ///
    /// What is no JSON is found line by line.
    fileprivate func bodyIsLines() throws(RequestFailure) {
        _ = try mediaType(
            MediaType.isJSONLines,
            detail: "Send Content-Type: application/x-ndjson, or none."
        )
        try noContentCoding()
    }
}
