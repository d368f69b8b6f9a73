internal import LatchkeySettings

/// Gets a lease, within a time.
struct LeaseAcquisition {
    /// The time that a call may take beyond its wait, until it gives up.
    private static let graceNanoseconds: UInt64 = 1_000_000_000
    /// The same, until it has given back a lease that it may have got.
    private static let endNanoseconds: UInt64 = 1_800_000_000
    private static let pauseNanoseconds: UInt64 = 500_000_000
    private static let pauseNanosecondsMax: UInt64 = 60_000_000_000
    private static let renewalPauseNanoseconds: UInt64 = 100_000_000

    private let client: LeaseClient
    /// Whether a service that does not answer is asked again and again.
    private let isPatient: Bool
    private let complain: (String) -> Void
    private let isAskedToEnd: () -> Bool
    /// Whether a lease that may have been got is not to be given back.
    private let isHurried: () -> Bool

    init(
        _ client: LeaseClient,
        isPatient: Bool,
        complain: @escaping (String) -> Void,
        isAskedToEnd: @escaping () -> Bool,
        isHurried: @escaping () -> Bool
    ) {
        self.client = client
        self.isPatient = isPatient
        self.complain = complain
        self.isAskedToEnd = isAskedToEnd
        self.isHurried = isHurried
    }

    /// - Parameter wait: How long to wait, in nanoseconds; nil for as long as it takes.
    /// - Returns: The lease; nil if it was not free in time, or the program is asked to end.
    /// - Throws: Why the service refused, or did not answer.
    func run(within wait: UInt64?) throws(ClientFailure) -> Lease? {
        let end = wait.map { client.now + $0 }
        var attempt = client.attempt(end)
        // Whether the attempt may have been made.
        var isInDoubt = false
        var silentSince: UInt64?
        while true {
            do throws(LeaseFailure) {
                let found = try client.acquire(
                    attempt,
                    until: end.map { $0 + Self.graceNanoseconds },
                    isCancelled: isAskedToEnd
                )
                silentSince = nil
                if let found, let lease = settled(found, attempt, until: end) { return lease }
                guard !isAskedToEnd(), end.map({ client.now < $0 }) ?? true else { return nil }
                (attempt, isInDoubt) = (client.attempt(end), false)
            } catch {
                isInDoubt = isInDoubt || error.isInDoubt
                switch error {
                case .cancelled:
                    if isInDoubt { withdraw(attempt, until: nil) }
                    return nil
                case .refused(let failure):
                    // An earlier attempt may have succeeded.
                    if isInDoubt { withdraw(attempt, until: end) }
                    throw failure
                case .unanswered(let failure, _):
                    if silentSince == nil { complain("\(failure.message) Trying again.") }
                    let since = silentSince ?? client.now
                    silentSince = since
                    let pauseEnd = client.now + pauseNanoseconds(failure)
                    guard pauseEnd < giveUpTime(end, since) else {
                        if isInDoubt { withdraw(attempt, until: end) }
                        throw failure
                    }
                    // Then the same attempt: it may have been made.
                    client.client.transport.pause(until: pauseEnd, isCancelled: isAskedToEnd)
                }
            }
        }
    }

    /// As long as the service asks, but at most a minute where it is asked without end.
    private func pauseNanoseconds(_ failure: ClientFailure) -> UInt64 {
        let asked = Call.nanoseconds(retryAfter: failure.retryAfter)
        let most = isPatient ? Self.pauseNanosecondsMax : .max
        return max(Self.pauseNanoseconds, min(asked, most))
    }

    /// When a service that has been silent since then is given up.
    private func giveUpTime(_ end: UInt64?, _ since: UInt64) -> UInt64 {
        if let end { return end + Self.graceNanoseconds }
        return isPatient ? .max : since + client.client.patience.nanoseconds
    }

    private func withdraw(_ attempt: LeaseClient.Attempt, until end: UInt64?) {
        let most = client.now + client.client.transport.timeLimit.nanoseconds
        client.withdraw(
            attempt,
            until: end.map { min(most, $0 + Self.endNanoseconds) } ?? most,
            isCancelled: isHurried
        )
    }

    /// The lease with enough of its time left; nil if it was given back.
    ///
    /// The service may have granted it long after the request was sent, and only the service knows
    /// when. So it is renewed at once, and counts from the time of that request.
    private func settled(
        _ lease: Lease,
        _ attempt: LeaseClient.Attempt,
        until end: UInt64?
    ) -> Lease? {
        let granted = client.now
        let timeToLive = lease.times.timeToLive
        guard granted - attempt.start > timeToLive / 10 else { return lease }
        var lease = lease
        // For the service it can begin as late as now.
        lease.times = client.times(from: granted)
        let bound = end.map { max(granted, $0) + Self.graceNanoseconds }
        let renewalEnd = min(granted + timeToLive / 3, bound ?? .max)
        renewing: while client.now < renewalEnd, !isAskedToEnd() {
            let left = Duration.nanoseconds(Int64(renewalEnd - client.now))
            switch client.renew(lease, within: left, isCancelled: isAskedToEnd) {
            case .renewed(let times):
                lease.times = times
                return lease
            case .lost:
                break renewing
            case .unanswered:
                client.client.transport.pause(
                    until: client.now + Self.renewalPauseNanoseconds,
                    isCancelled: isAskedToEnd
                )
            }
        }
        let releaseEnd = end.map { max(granted, $0) + Self.endNanoseconds }
        _ = client.release(lease, until: releaseEnd, isCancelled: isHurried)
        return nil
    }
}
