internal import LatchkeyMachine
internal import LatchkeySettings

/// A property that is there while somebody holds it.
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

    /// The longest wait that one request asks for.
    private static let waitSecondsMax = 30

    package let client: Client
    package let name: String
    package let timeToLive: Duration
    /// Who holds it, for people.
    package let holder: String

    package init(_ client: Client, name: String, timeToLive: Duration, holder: String) {
        self.client = client
        self.name = name
        self.timeToLive = timeToLive
        self.holder = holder
    }

    private var nanoseconds: UInt64 { UInt64(timeToLive.wholeNanoseconds) }
    private var seconds: String { SecondsArgument.text(timeToLive) }

    /// One try to get the lease, which the service answers when it is free, or time is up.
    ///
    /// The same try can be sent again after its answer was lost.
    package struct Attempt: Sendable {
        /// No other try has it: the value of the property, and the key of the request.
        let id = RandomKey.make()
        /// Before it was sent first: a repeat can get the answer of that time.
        let start = BootTime.now
        let waitSeconds: Int
    }

    /// A try that waits for at most so many nanoseconds, or as long as one request can.
    package func attempt(_ wait: UInt64?) -> Attempt {
        let seconds = wait.map { ($0 + 999_999_999) / 1_000_000_000 }
        return Attempt(waitSeconds: Int(min(seconds ?? .max, UInt64(Self.waitSecondsMax))))
    }

    /// Tries to get the lease; nil if it is not free within the time.
    package func acquire(
        _ attempt: Attempt,
        isCancelled: () -> Bool
    ) throws(LeaseFailure) -> Lease? {
        var request = ClientRequest(.post, "/v1/transactions")
        request.add("wait", "\(attempt.waitSeconds)")
        request.makeRepeatable(attempt.id)
        request.timeLimit = client.connection.timeLimit + .seconds(attempt.waitSeconds)
        let put = JSONValue(object: [
            ("put", JSONValue(string: name)), ("value", value(attempt)),
            ("ttl", JSONValue(number: seconds)),
        ])
        request.send(condition: ("absent", JSONValue(true)), on: name, then: put)
        let answer = try send(request, isCancelled)
        guard let json = answer.json, let hasSucceeded = json["succeeded"]?.boolean else {
            throw .refused(ClientFailure(.failed, "the answer is not that of a transaction."))
        }
        guard hasSucceeded else { return nil }
        guard let revision = json["results"]?.elements.first?["revision"]?.integer else {
            throw .refused(ClientFailure(.failed, "the answer is not that of a transaction."))
        }
        let times = LeaseTimes(start: attempt.start, timeToLive: nanoseconds)
        return Lease(revision: UInt64(revision), times: times)
    }

    /// Has the lease begin anew.
    package func renew(_ lease: Lease, isCancelled: () -> Bool) -> Renewal {
        var request = ClientRequest(.post, property: name, "touch")
        request.add("ttl", seconds)
        request.add(field: "If-Match: \"\(lease.revision)\"")
        request.timeLimit = min(client.connection.timeLimit, lease.times.requestLimit)
        let start = BootTime.now
        do throws(LeaseFailure) {
            _ = try send(request, isCancelled)
            return .renewed(LeaseTimes(start: start, timeToLive: nanoseconds))
        } catch {
            guard case .refused(let failure) = error,
                [.missing, .unmet].contains(failure.status)
            else { return .unanswered }
            return .lost
        }
    }

    /// Gives the lease back; returns why it may still be there.
    package func release(_ lease: Lease) -> ClientFailure? {
        let over = lease.times.start + lease.times.timeToLive
        let now = BootTime.now
        // It is free then.
        guard over > now else { return nil }
        var request = ClientRequest(.delete, property: name)
        request.add(field: "If-Match: \"\(lease.revision)\"")
        request.timeLimit = min(client.connection.timeLimit, .nanoseconds(Int64(over - now)))
        // A second one like it finds nothing to delete.
        return attemptTwice(request) { false }
    }

    /// Gives back what a try may have got whose answer did not come.
    ///
    /// The service notices half a second later that a client that waited has gone, so what the try
    /// gets in the next second is given back, too.
    package func withdraw(_ attempt: Attempt, isCancelled: () -> Bool) {
        var request = ClientRequest(.post, "/v1/transactions")
        request.add("wait", "1")
        let delete = JSONValue(object: [("delete", JSONValue(string: name))])
        request.send(condition: ("equals", value(attempt)), on: name, then: delete)
        request.timeLimit = .seconds(3)
        _ = attemptTwice(request, isCancelled)
    }

    /// Who holds the lease; nil if it is free.
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

    private func attemptTwice(
        _ request: ClientRequest,
        _ isCancelled: () -> Bool
    ) -> ClientFailure? {
        var last: ClientFailure?
        for _ in 0..<2 {
            do throws(LeaseFailure) {
                _ = try send(request, isCancelled)
                return nil
            } catch {
                guard case .unanswered(let failure) = error else { return nil }
                last = failure
            }
        }
        return last
    }

    private func send(
        _ request: ClientRequest,
        _ isCancelled: () -> Bool
    ) throws(LeaseFailure) -> ClientAnswer {
        let answer: ClientAnswer
        do throws(ConnectionFailure) {
            answer = try client.connection.send(request, isCancelled: isCancelled)
        } catch {
            guard error.kind != .cancelled else { throw .cancelled }
            let failure = client.failure(error)
            throw error.isTransient ? .unanswered(failure) : .refused(failure)
        }
        guard answer.isSuccess else {
            let failure = client.failure(answer)
            throw answer.isTransient ? .unanswered(failure) : .refused(failure)
        }
        return answer
    }
}

/// Why a request for a lease did not succeed.
package enum LeaseFailure: Error, Equatable {
    case cancelled
    /// It may be answered if it is sent again.
    case unanswered(ClientFailure)
    case refused(ClientFailure)
}

extension ClientRequest {
    /// Sends a transaction of one condition and one step on one property.
    fileprivate mutating func send(
        condition: (name: String, value: JSONValue),
        on name: String,
        then step: JSONValue
    ) {
        let condition = JSONValue(object: [("name", JSONValue(string: name)), condition])
        let transaction = JSONValue(object: [
            ("if", JSONValue(array: [condition])), ("then", JSONValue(array: [step])),
        ])
        send(.bytes(transaction.bytes), type: "application/json")
    }
}
