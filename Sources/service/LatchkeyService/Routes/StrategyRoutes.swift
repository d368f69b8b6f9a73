internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeySettings
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The routes that show the strategy and switch it.
struct StrategyRoutes: Sendable {
    let strategy: ServingStrategy
    let depthMax: Int

    func add(to table: inout RouteTable) {
        table.add(.get, "/v1/strategies", .local, needs: .token, statuses: [200, 304, 400, 412]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            let table = StrategyTable.json(serving: strategy.kind)
            try request.respond(FixedPage("application/json", table))
        }
        let path = "/v1/strategy"
        table.add(.get, path, .local, needs: .token, statuses: [200, 400]) {
            request,
            _ throws(RequestFailure) in
            try request.noQuery()
            let (kind, since) = strategy.serving
            var json = JSONWriter()
            json.object { object in
                object.member("strategy", kind.rawValue)
                object.member("atStart", strategy.atStart.rawValue)
                object.member("since", since.calendarText)
            }
            request.respond(json: json)
        }
        table.add(
            .put,
            path,
            .local,
            needs: .right(.admin),
            statuses: [200, 400, 409, 415, 422]
        ) { request, _ throws(RequestFailure) in
            try request.noQuery()
            guard !request.exchange.hasHeader(named: .contentRange) else {
                throw RequestFailure(.partialPut)
            }
            try request.jsonBody(depthMax: depthMax)
            strategy.switch(to: try request.strategy()) { result in
                switch result {
                case .success(let report): request.respond(report)
                case .failure(let refusal): request.fail(refusal.failure)
                }
            }
        }
    }
}

extension ServiceRequest {
    /// The strategy that the body names: its one member, `strategy`.
    fileprivate func strategy() throws(RequestFailure) -> StrategyKind {
        var name: String?
        var isOther = false
        unsafe exchange.body.withUnsafeBytes { bytes in
            for member in unsafe JSONView(bytes).members {
                isOther = isOther || name != nil || !member.name.isString("strategy")
                name = member.value.string ?? ""
            }
        }
        guard let name, !isOther else {
            throw RequestFailure(
                .invalidBody,
                "The body is an object with the single member \"strategy\", the name of one."
            )
        }
        guard let kind = StrategyKind(rawValue: name) else {
            let names = StrategyKind.allCases.map(\.rawValue)
            let correction = Suggestion.correction(of: name, among: names, "This strategy")
            throw RequestFailure(.invalidBody, correction)
        }
        return kind
    }

    fileprivate func respond(_ report: SwitchReport) {
        var json = JSONWriter()
        json.object { object in
            object.member("from", report.from.rawValue)
            object.member("to", report.to.rawValue)
            object.member("seconds", raw: report.duration.secondsText)
            object.member("longestHoldSeconds", raw: report.longestHold.secondsText)
            object.member("longestAccessSeconds", raw: report.longestAccess.secondsText)
        }
        respond(json: json) { $0.strategies = (report.from, report.to) }
    }
}

extension SwitchRefusal {
    fileprivate var failure: RequestFailure {
        switch self {
        case .underWay: RequestFailure(.switchUnderWay)
        case .needsOneStripe(let kind, let stripeCount):
            RequestFailure(
                .strategyNotAvailable,
                "\(kind.rawValue) guards one stripe, and the service has \(stripeCount). Start it "
                    + "with --strategy \(kind.rawValue), or with --stripes 1."
            )
        }
    }
}
