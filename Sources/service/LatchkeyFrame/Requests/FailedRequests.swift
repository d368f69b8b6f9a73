internal import CLatchkeySystem
internal import LatchkeyHTTP
internal import LatchkeyStrategies

/// The lines of the log about requests that the service has failed: answers from 500 on.
///
/// The identifier in such an answer leads to its line, which has the reason, the token and the
/// address. It does not have the problem's detail, which can have the name of a property.
///
/// **Design.** A service that is full fails many requests in a second, and its log must not be full
/// of them. So only some in a second have a line. The first line of a later second says how many
/// had none. The thread that answers holds the lock for a comparison.
package final class FailedRequests: Sendable {
    /// How many lines there are in a second.
    package static let linesPerSecondMax = 5

    private struct Window {
        var second: UInt64 = 0
        var count = 0
        /// How many requests had no line since the last one.
        var leftOut: UInt64 = 0
    }

    private let log: Log
    private let window = Guarded(Window())
    private let clock: @Sendable () -> UInt64

    package init(
        _ log: Log,
        clock: @escaping @Sendable () -> UInt64 = { latchkey_system_nanoseconds() }
    ) {
        self.log = log
        self.clock = clock
    }

    /// Adds the line of a request that is not answered yet.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - route: Its method and route.
    ///   - status: The status of its answer.
    ///   - problem: The body of its answer.
    func note(
        _ request: ServiceRequest,
        _ route: String,
        _ status: HTTPStatus,
        _ problem: ProblemText
    ) {
        guard let leftOut = admit() else { return }
        var fields = [
            ("request", request.exchange.identifier), ("route", route),
            ("status", "\(status.rawValue)"), ("problem", problem.problem.rawValue),
            ("reason", problem.problem.title),
        ]
        fields.append(("advice", problem.problem.advice))
        if let token = request.caller.name { fields.append(("token", token)) }
        fields.append(("address", request.exchange.clientAddress.text))
        if leftOut > 0 { fields.append(("leftOut", "\(leftOut)")) }
        log.write(.warning, "request failed", fields)
    }

    /// The number of requests without a line since the last line; nil if no line is allowed now.
    func admit() -> UInt64? {
        let second = clock() / 1_000_000_000
        return window.write { window in
            if window.second != second {
                window.second = second
                window.count = 0
            }
            guard window.count < Self.linesPerSecondMax else {
                window.leftOut += 1
                return nil
            }
            window.count += 1
            defer { window.leftOut = 0 }
            return window.leftOut
        }
    }
}
