internal import LatchkeyContention
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The route of the profile of contention, at the path that Go's tools use.
struct ProfileRoutes: Sendable {
    private static let secondsMax: Int64 = 60

    /// Nil unless the service profiles.
    let profile: ContentionProfile?
    private let windows = ProfileWindows()

    init(_ profile: ContentionProfile?, in frame: ServiceFrame) {
        self.profile = profile
        frame.closing.at(.streams) { [windows] in windows.drain() }
    }

    func add(to table: inout RouteTable) {
        table.add(
            .get,
            "/debug/pprof/mutex",
            .local,
            needs: .right(.admin),
            statuses: [200, 400, 404, 503]
        ) {
            request,
            _ throws(RequestFailure) in
            try answer(request)
        }
    }

    private func answer(_ request: ServiceRequest) throws(RequestFailure) {
        let seconds = try Self.seconds(try request.query(["seconds"])["seconds"])
        guard let profile else {
            throw RequestFailure(.profilingOff)
        }
        let mark = seconds.map { _ in profile.mark() }
        if let seconds {
            // The server must not take the request away before the time is up.
            request.exchange.awaitAnswer(for: .seconds(seconds + 30))
        }
        let number = windows.nextNumber()
        request.exchange.whenGone { [windows] in windows.end(number) }
        let isAccepted = windows.run(number, after: seconds ?? 0) {
            // The caller may have lost the right since.
            let caller = request.caller
            guard !caller.isRevoked else { return request.fail(.revoked) }
            guard caller.allows(.admin) else { return request.fail(.forbidden(.admin, caller)) }
            let file = profile.reading(since: mark).pprof()
            request.respond(.ok, body: .bytes(file)) { answer in
                answer.add("Content-Type", "application/octet-stream")
                answer.add("Content-Disposition", #"attachment; filename="mutex.pb.gz""#)
            }
        }
        guard isAccepted else {
            throw RequestFailure(.tooManyProfiles)
        }
    }

    /// Nil for the time since the start.
    private static func seconds(_ text: String?) throws(RequestFailure) -> Int? {
        guard let text else {
            return nil
        }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text),
            (1...secondsMax).contains(seconds)
        else {
            throw RequestFailure(.invalidQuery, "seconds must be a number from 1 to 60.")
        }
        return Int(seconds)
    }
}
