internal import LatchkeyMachine
internal import LatchkeySettings

/// A property that exists while a client holds it.
package struct Lease: Sendable, Equatable {
    /// The revision at which the property was created: the fencing token.
    package let revision: UInt64
    package var times: LeaseTimes
}

/// The requests of a lock: a property with a time to live, which one client can create.
package struct LeaseClient {
    package enum Renewal: Equatable, Sendable {
        case renewed(LeaseTimes)
        /// The service says that the property is another one, or none.
        case lost
        /// The service did not answer, or not now.
        case unanswered
    }

    /// The longest wait of one try.
    private static let waitNanosecondsMax: UInt64 = 30_000_000_000
    private static let pauseNanoseconds: UInt64 = 100_000_000

    package let client: Client
    package let name: String
    package let timeToLive: Duration
    /// The name of the holder, for people.
    package let holder: String

    package init(_ client: Client, name: String, timeToLive: Duration, holder: String) {
        self.client = client
        self.name = name
        self.timeToLive = timeToLive
        self.holder = holder
    }

    private var seconds: String { SecondsText.text(timeToLive) }

    var now: UInt64 { client.transport.now }

    /// One try to get the lease.
    ///
    /// The service answers when the lease is free, or time is up.
    ///
    /// The same try can be sent again after its answer was lost.
    package struct Attempt: Sendable {
        /// No other try has it: the value of the property, and the key of the request.
        let id = RandomKey.make()
        /// The time before it was first sent: a repeat can get the answer of that time.
        let start: UInt64
        /// When it ends; nil for as long as one request can wait.
        fileprivate let end: UInt64?

        /// The rest of its wait.
        fileprivate func wait(at now: UInt64) -> Duration {
            let over = start + LeaseClient.waitNanosecondsMax
            let end = min(end ?? over, over)
            return .nanoseconds(Int64(end > now ? end - now : 0))
        }
    }

    /// A try that waits until a time, or as long as one request can.
    package func attempt(_ end: UInt64?) -> Attempt {
        Attempt(start: now, end: end)
    }

    /// Tries to get the lease; nil if it is not free within the time.
    ///
    /// - Parameters:
    ///   - attempt: The try.
    ///   - bound: When the request is given up; nil for the time of the connection.
    ///   - waits: Whether the service waits until the lease is free.
    ///   - isCancelled: As for ``ServiceConnection/send(_:isCancelled:)``.
    /// - Returns: The lease, which counts from the first time that the try was sent.
    /// - Throws: Why the service has not decided.
    package func acquire(
        _ attempt: Attempt,
        until bound: UInt64? = nil,
        waits: Bool = true,
        isCancelled: () -> Bool
    ) throws(LeaseFailure) -> Lease? {
        let wait = waits ? attempt.wait(at: now) : .zero
        var request = ClientRequest(.post, "/v1/transactions")
        request.add("wait", SecondsText.text(wait))
        request.makeRepeatable(attempt.id, isOfCall: true)
        request.timeLimit = limit(client.transport.timeLimit + wait, until: bound)
        let put = JSONValue(object: [
            ("put", JSONValue(string: name)), ("value", value(attempt)),
            ("ttl", JSONValue(number: seconds)),
        ])
        let free = JSONValue(object: [
            ("name", JSONValue(string: name)), ("absent", JSONValue(true)),
        ])
        let transaction = JSONValue(object: [
            ("if", JSONValue(array: [free])), ("then", JSONValue(array: [put])),
        ])
        request.send(.bytes(transaction.bytes), type: "application/json")
        let answer = try send(request, isCancelled)
        guard let json = answer.json, let hasSucceeded = json["succeeded"]?.boolean else {
            throw .refused(ClientFailure(.failed, "the answer is not that of a transaction."))
        }
        guard hasSucceeded else { return nil }
        guard let revision = json["results"]?.elements.first?["revision"]?.integer else {
            throw .refused(ClientFailure(.failed, "the answer is not that of a transaction."))
        }
        return Lease(revision: UInt64(revision), times: times(from: attempt.start))
    }

    /// The times of a lease from a request that was sent then.
    func times(from start: UInt64) -> LeaseTimes {
        LeaseTimes(start: start, timeToLive: timeToLive.nanoseconds)
    }

    /// Starts the time of the lease again.
    package func renew(
        _ lease: Lease,
        within time: Duration? = nil,
        isCancelled: () -> Bool
    ) -> Renewal {
        var request = ClientRequest(.post, property: name, "touch")
        request.add("ttl", seconds)
        request.add(field: "If-Match: \"\(lease.revision)\"")
        request.timeLimit = min(client.transport.timeLimit, time ?? lease.times.requestLimit)
        let start = now
        do throws(LeaseFailure) {
            let answer = try send(request, isCancelled)
            // Another one's lease is not renewed.
            guard answer.revision == lease.revision else { return .unanswered }
            return .renewed(times(from: start))
        } catch {
            guard case .refused(let failure) = error,
                [.missing, .unmet].contains(failure.status)
            else { return .unanswered }
            return .lost
        }
    }

    /// Gives the lease back, with repeats.
    ///
    /// - Parameters:
    ///   - lease: The lease.
    ///   - bound: When to leave it to its end; nil for the client's patience.
    ///   - isCancelled: As for ``ServiceConnection/send(_:isCancelled:)``.
    /// - Returns: Why it may still be there.
    package func release(
        _ lease: Lease,
        until bound: UInt64? = nil,
        isCancelled: () -> Bool = { false }
    ) -> ClientFailure? {
        // It is free then.
        let end = min(lease.times.over, bound ?? now + client.patience.nanoseconds)
        var request = ClientRequest(.delete, property: name)
        request.add(field: "If-Match: \"\(lease.revision)\"")
        request.makeRepeatable()
        var last: ClientFailure?
        while now < end {
            request.timeLimit = limit(client.transport.timeLimit, until: end)
            do throws(LeaseFailure) {
                _ = try send(request, isCancelled)
                return nil
            } catch {
                switch error {
                // It is not there any more, or another one.
                case .refused(let failure) where [.missing, .unmet].contains(failure.status):
                    return nil
                case .refused(let failure): return failure
                case .unanswered(let failure, _):
                    last = failure
                    guard pauses(failure, until: end, isCancelled) else { return last }
                case .cancelled: return last
                }
            }
        }
        return last
    }

    /// Gives back a lease that a try without an answer may have got.
    ///
    /// The try is made once more, without waiting: then the service has decided about it, and a
    /// request that is still on its way gets nothing.
    package func withdraw(
        _ attempt: Attempt,
        until bound: UInt64,
        isCancelled: () -> Bool
    ) {
        while now < bound, !isCancelled() {
            do throws(LeaseFailure) {
                var found = try acquire(
                    attempt,
                    until: bound,
                    waits: false,
                    isCancelled: isCancelled
                )
                // It can have been got just now.
                found?.times = times(from: now)
                if let found { _ = release(found, until: bound, isCancelled: isCancelled) }
                return
            } catch {
                guard case .unanswered(let failure, _) = error,
                    pauses(failure, until: bound, isCancelled)
                else { return }
            }
        }
    }

    /// Waits as long as the service asks; false if that is longer than there is time.
    private func pauses(
        _ failure: ClientFailure,
        until bound: UInt64,
        _ isCancelled: () -> Bool
    ) -> Bool {
        let asked = Call.nanoseconds(retryAfter: failure.retryAfter)
        let end = now + max(Self.pauseNanoseconds, asked)
        guard end < bound else { return false }
        client.transport.pause(until: end, isCancelled: isCancelled)
        return true
    }

    private func limit(_ time: Duration, until bound: UInt64?) -> Duration {
        guard let bound else { return time }
        let left = Duration.nanoseconds(Int64(bound > now ? bound - now : 0))
        return min(time, max(left, .milliseconds(1)))
    }

    /// The holder of the lease; nil if it is free.
    package func leader() throws(ClientFailure) -> String? {
        do throws(ClientFailure) {
            let value = try client.send(ClientRequest(.get, property: name)).json
            return value?["holder"]?.string ?? value?.oneLine
        } catch  where error.status == .missing {
            return nil
        }
    }

    private func value(_ attempt: Attempt) -> JSONValue {
        JSONValue(object: [
            ("holder", JSONValue(string: holder)), ("id", JSONValue(string: attempt.id)),
        ])
    }

    /// Sends a request; without its key, if the service has no room for it.
    ///
    /// Without a key, a lost answer cannot be repeated. A lease that it granted is free after its
    /// time.
    private func send(
        _ request: ClientRequest,
        _ isCancelled: () -> Bool
    ) throws(LeaseFailure) -> ClientAnswer {
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try client.transport.send(request, isCancelled: isCancelled)
        } catch {
            guard error.kind != .cancelled else {
                throw .cancelled(isInDoubt: !error.isUnsent)
            }
            let failure = client.failure(error)
            guard error.isTransient else { throw .refused(failure) }
            throw .unanswered(failure, isInDoubt: !error.isUnsent)
        }
        let meaning = answer.meaning(request.promise)
        guard meaning != .promised else { return answer }
        if case .problem(let name) = meaning, Call.keyless.contains(name), request.isKeyOfCall {
            var request = request
            request.removeKey()
            return try send(request, isCancelled)
        }
        let failure = client.failure(answer, meaning)
        guard AnswerMeaning.isPassing(answer, meaning) else { throw .refused(failure) }
        throw .unanswered(failure, isInDoubt: meaning.isInDoubt)
    }
}

/// Why a request for a lease did not succeed.
///
/// It is in doubt if the service may have done it.
package enum LeaseFailure: Error, Equatable {
    case cancelled(isInDoubt: Bool)
    /// It may be answered if it is sent again.
    case unanswered(ClientFailure, isInDoubt: Bool)
    case refused(ClientFailure)

    var isInDoubt: Bool {
        switch self {
        case .cancelled(let isInDoubt), .unanswered(_, let isInDoubt): isInDoubt
        case .refused: false
        }
    }
}
