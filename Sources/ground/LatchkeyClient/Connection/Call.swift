internal import LatchkeySettings

/// The attempts of one call: the result of each, and the next step.
///
/// **Design.** It sends nothing and has no clock: the time comes from outside, in nanoseconds.
/// `clients/behaviour.md` has its rules.
struct Call {
    enum Next {
        case done
        /// Another attempt, at this time.
        case again(UInt64)
        case failed(ClientFailure)
    }

    /// The service, for messages.
    struct Place {
        let origin: String
        let hasToken: Bool
        /// Where the address comes from, such as `--url`.
        var source: String?
    }

    /// The time that a call that waits may take beyond its wait, including the program's own end.
    private static let graceNanoseconds: UInt64 = 1_900_000_000
    private static let pauseNanosecondsMin: UInt64 = 100_000_000
    private static let pauseNanosecondsMax: UInt64 = 1_000_000_000
    /// The problems of a service that has no room for a key.
    static let keyless = ["too-many-idempotency-keys", "client-share-taken"]

    private let place: Place
    private var request: ClientRequest
    private let timeLimit: Duration
    private let start: UInt64
    private let end: UInt64
    /// The least time left when an attempt begins: a shorter attempt would only leave doubt.
    private let least: UInt64
    private var pause = Self.pauseNanosecondsMin
    /// Whether an attempt may have made the change.
    private var isInDoubt = false

    init(
        _ request: ClientRequest,
        _ place: Place,
        timeLimit: Duration,
        patience: Duration,
        at now: UInt64
    ) {
        self.request = request
        self.place = place
        self.timeLimit = timeLimit
        start = now
        let wait = request.wait?.nanoseconds ?? 0
        let rest = wait > 0 ? Self.graceNanoseconds : patience.nanoseconds
        end = now + wait + rest
        least = min(timeLimit.nanoseconds, rest / 4)
    }

    /// The attempt that begins now.
    func attempt(at now: UInt64) -> ClientRequest {
        let waitEnd = start + (request.wait?.nanoseconds ?? 0)
        let waitLeft = Duration.nanoseconds(Int64(waitEnd > now ? waitEnd - now : 0))
        let left = Duration.nanoseconds(Int64(end > now ? end - now : 0))
        return request.attempt(
            waitLeft: request.wait == nil ? nil : waitLeft,
            limit: min(timeLimit + waitLeft, max(left, .milliseconds(1)))
        )
    }

    /// Handles an answer.
    mutating func hears(_ answer: ClientAnswer, at now: UInt64) -> Next {
        switch answer.meaning(request.promise) {
        case .promised:
            return .done
        case .problem(let name)
        where Self.keyless.contains(name) && request.isKeyOfCall && !isInDoubt:
            request.removeKey()
            return .again(now)
        case .problem("outcome-unknown"):
            return doubt("the outcome is not known", now, answer.retryAfter)
        case .problem:
            let failure = place.failure(answer)
            guard ![429, 503].contains(answer.status) else {
                return again(failure, now, answer.retryAfter)
            }
            // Decided before a key is looked up, so it says nothing about an earlier attempt.
            let isNotAllowed = [401, 403, 421].contains(answer.status)
            return .failed(isNotAllowed ? fatal(failure) : failure)
        case .passing(let isInDoubt):
            let reason = answer.passingReason
            return isInDoubt
                ? doubt(reason, now, answer.retryAfter)
                : again(unreachable(reason), now, answer.retryAfter)
        case .foreign:
            return .failed(fatal(unchanged(place.foreign(answer))))
        }
    }

    /// Handles a failure.
    mutating func hears(_ failure: ConnectionFailure, at now: UInt64) -> Next {
        switch failure.kind {
        case .timedOut, .broken:
            doubt(failure.message + place.advice(on: failure), now)
        case .unconnected:
            again(unreachable(failure.message + place.advice(on: failure)), now, isUnsent: true)
        case .cancelled where request.isWrite && !failure.isUnsent:
            .failed(unknown(failure.message))
        case .wrong, .unusable, .cancelled:
            .failed(fatal(unreachable(failure.message + place.advice(on: failure))))
        }
    }

    private mutating func doubt(
        _ reason: String,
        _ now: UInt64,
        _ retryAfter: Int? = nil
    ) -> Next {
        isInDoubt = isInDoubt || request.isWrite
        let failure = isInDoubt ? unknown(reason) : unreachable(reason)
        return request.isRepeatable ? again(failure, now, retryAfter) : .failed(failure)
    }

    /// Another attempt after a pause, if there is time for it, and something to send.
    private mutating func again(
        _ failure: ClientFailure,
        _ now: UInt64,
        _ retryAfter: Int? = nil,
        isUnsent: Bool = false
    ) -> Next {
        let time = now + max(pause, Self.nanoseconds(retryAfter: retryAfter))
        guard time < end, time + least <= end, isUnsent || !request.isSentOnce else {
            return .failed(fatal(failure))
        }
        pause = min(2 * pause, Self.pauseNanosecondsMax)
        return .again(time)
    }

    /// How long the service asks to wait.
    static func nanoseconds(retryAfter seconds: Int?) -> UInt64 {
        UInt64(min(max(seconds ?? 0, 0), 1_000_000)) * 1_000_000_000
    }

    /// The failure with which the call ends, when an earlier attempt may have made the change.
    private func fatal(_ failure: ClientFailure) -> ClientFailure {
        guard isInDoubt, failure.status != .unknown else { return failure }
        return unknown(failure.message.replacing(" Nothing was changed.", with: ""))
    }

    private func unreachable(_ reason: String) -> ClientFailure {
        unchanged(place.unreachable(reason))
    }

    private func unchanged(_ failure: ClientFailure) -> ClientFailure {
        guard request.isWrite else { return failure }
        return ClientFailure(failure.status, "\(failure.message) Nothing was changed.")
    }

    private func unknown(_ reason: String) -> ClientFailure {
        // The reason can be a whole message.
        let start = reason.hasPrefix(place.origin) ? reason : "\(place.origin): \(reason)."
        let advice = request.repeatAdvice.map { " \($0)" } ?? ""
        return ClientFailure(.unknown, "\(start) The write may have been made.\(advice)")
    }
}

extension Call.Place {
    /// The failure of an answer of the service.
    func failure(_ answer: ClientAnswer) -> ClientFailure {
        ClientFailure(answer, from: origin, hasToken: hasToken)
    }

    /// The failure of a missing answer.
    func unreachable(_ reason: String) -> ClientFailure {
        ClientFailure(.failed, "\(origin): \(reason).")
    }

    /// Advice on a failure: a sentence without its full stop, after another sentence.
    func advice(on failure: ConnectionFailure) -> String {
        let isTLS = origin.hasPrefix("https:")
        let sentence: String? =
            switch failure.hint {
            case .unknownAuthority:
                "Give --ca FILE, with the certificate of the authority that signed the service's"
            case .noTLS: "If the port does not speak TLS, use http://"
            case .tls where !isTLS: "If the port speaks TLS, use https://"
            case .address: source.map { "The address is that of \($0)" }
            default: nil
            }
        return sentence.map { ". " + $0 } ?? ""
    }

    /// The failure of an answer of another server.
    func foreign(_ answer: ClientAnswer) -> ClientFailure {
        var found = ["status \(answer.status)"]
        if let type = answer.mediaType { found.append(type) }
        if let place = answer.field("location") { found.append("a redirect to \(place)") }
        return ClientFailure(
            .failed,
            "\(origin) does not answer as a Latchkey service does: "
                + "\(found.joined(separator: ", "))."
        )
    }
}

extension ClientAnswer {
    var passingReason: String { "it answers with status \(status), as a proxy does" }
}
