internal import LatchkeySettings

/// A client of one service: requests that are repeated within limits, and failures that know their
/// exit status.
package final class Client {
    package let transport: any ClientTransport
    /// How long a call that does not wait is repeated.
    package let patience: Duration
    /// Whether a write was made.
    package private(set) var hasWritten = false

    package static let patienceStandard = Duration.seconds(10)

    /// Where the address comes from, for messages.
    private let source: String?

    package init(
        _ transport: any ClientTransport,
        patience: Duration = patienceStandard,
        source: String? = nil
    ) {
        self.source = source
        self.transport = transport
        self.patience = patience
    }

    package var origin: String { transport.origin }

    private var place: Call.Place {
        Call.Place(origin: origin, hasToken: transport.hasToken, source: source)
    }

    /// Makes a call.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - isCancelled: As for ``ServiceConnection/send(_:isCancelled:)``.
    /// - Returns: The promised answer.
    /// - Throws: Why there is none, and whether the change may have been made.
    package func send(
        _ request: ClientRequest,
        isCancelled: () -> Bool = { false }
    ) throws(ClientFailure) -> ClientAnswer {
        try run(request, isCancelled) { attempt throws(ConnectionFailure) in
            try transport.send(attempt, isCancelled: isCancelled)
        }
    }

    /// Makes a call whose answer comes piece by piece, and is not repeated once a piece has come.
    package func stream(
        _ request: ClientRequest,
        isCancelled: () -> Bool = { false },
        take: (UnsafeRawBufferPointer) -> Bool
    ) throws(ClientFailure) -> ClientAnswer {
        var request = request
        request.isStream = true
        return try run(request, isCancelled) { attempt throws(ConnectionFailure) in
            var hasBegun = false
            do throws(ConnectionFailure) {
                return try unsafe transport.stream(
                    attempt,
                    type: attempt.promise.type,
                    isCancelled: isCancelled
                ) { bytes in
                    hasBegun = true
                    return unsafe take(bytes)
                }
            } catch {
                guard hasBegun, error.kind != .cancelled else { throw error }
                throw ConnectionFailure(.unusable, "the answer was cut off: \(error.message)")
            }
        }
    }

    private func run(
        _ request: ClientRequest,
        _ isCancelled: () -> Bool,
        _ attempt: (ClientRequest) throws(ConnectionFailure) -> ClientAnswer
    ) throws(ClientFailure) -> ClientAnswer {
        var call = Call(
            request,
            place,
            timeLimit: transport.timeLimit,
            patience: patience,
            at: transport.now
        )
        while true {
            let next: Call.Next
            var answer: ClientAnswer?
            do throws(ConnectionFailure) {
                let found = try attempt(call.attempt(at: transport.now))
                answer = found
                next = call.hears(found, at: transport.now)
            } catch {
                next = call.hears(error, at: transport.now)
            }
            switch (next, answer) {
            case (.done, let answer?):
                hasWritten = hasWritten || request.isWrite
                return answer
            case (.failed(let failure), _): throw failure
            case (.again(let time), _): transport.pause(until: time, isCancelled: isCancelled)
            case (.done, nil): break
            }
        }
    }

    /// The failure for an answer to one attempt that is not the promised one.
    func failure(_ answer: ClientAnswer, _ meaning: AnswerMeaning) -> ClientFailure {
        switch meaning {
        case .problem: return place.failure(answer)
        case .passing:
            var failure = place.unreachable(answer.passingReason)
            failure.retryAfter = answer.retryAfter
            return failure
        case .promised, .foreign: return place.foreign(answer)
        }
    }

    /// The failure for an event of another service.
    var unreadable: ClientFailure {
        place.unreachable("what it sends is not of a Latchkey service")
    }

    /// The failure of one attempt.
    func failure(_ failure: ConnectionFailure) -> ClientFailure {
        place.unreachable(failure.message + place.advice(on: failure))
    }
}
