internal import CLatchkeyFetch
internal import Glibc
internal import LatchkeySettings

/// The reason why a fetch did not succeed.
package enum FetchFailure: Error, Hashable, Sendable {
    /// The text is not a URL, or one with a user name.
    case notURL
    /// The scheme, the host or the port is not allowed, or the address is a special one.
    case notAllowed
    case timedOut
    case tooLarge
    case tooManyRedirects
    /// The server answered with a status other than 2xx.
    case status(Int)
    case notJSON
    /// There was no answer, with libcurl's message.
    case unreachable(String)
    case cancelled
}

/// Reads a text from a URL, within limits.
///
/// A URL is allowed if its scheme is http or https, and the limits list its host and port. This
/// holds for each redirect, too. The name is resolved by libcurl, and the address is checked when
/// the connection to it is made. So a second, different answer of a name server cannot lead
/// elsewhere.
///
/// **Design.** Everything happens on the calling thread, which C calls back. The context of these
/// calls is this object, which outlives them.
package final class Fetch {
    private static let redirectsMax = 5

    private let limits: FetchLimits
    private let allowed: Set<AllowedOrigin>
    private let traceparent: String?
    private let isCancelled: () -> Bool

    /// - Parameters:
    ///   - limits: The hosts to fetch from, and the limits of a fetch.
    ///   - traceparent: The valid value of the field to send, if there is one.
    ///   - isCancelled: Asked at least every 50 milliseconds.
    package init(
        _ limits: FetchLimits,
        traceparent: String? = nil,
        isCancelled: @escaping () -> Bool
    ) {
        self.limits = limits
        self.traceparent = traceparent
        allowed = Set(limits.allowed.compactMap { AllowedOrigin($0) })
        self.isCancelled = isCancelled
    }

    /// Checks a URL without connecting.
    package func check(_ url: String) throws(FetchFailure) {
        var origin = unsafe latchkey_fetch_origin()
        guard unsafe latchkey_fetch_origin_of(url, &origin) else { throw .notURL }
        defer { unsafe latchkey_fetch_origin_free(&origin) }
        let scheme = unsafe String(cString: origin.scheme)
        let host = unsafe String(cString: origin.host)
        guard let standard = AllowedOrigin.standardPort(scheme),
            isListed(
                FetchAddress(literal: host)?.text ?? host.lowercased(),
                unsafe origin.port,
                standard: [standard]
            )
        else { throw .notAllowed }
    }

    /// The body of the answer.
    package func text(_ url: String) throws(FetchFailure) -> [UInt8] {
        let end = ContinuousClock.now + limits.timeLimit
        var url = url
        for _ in 0...Self.redirectsMax {
            try check(url)
            switch try answer(url, within: end - ContinuousClock.now) {
            case .body(let text): return text
            case .redirect(let location): url = location
            }
        }
        throw .tooManyRedirects
    }

    private enum Answer {
        case body([UInt8])
        case redirect(String)
    }

    private func answer(_ url: String, within limit: Duration) throws(FetchFailure) -> Answer {
        let milliseconds = limit.wholeMilliseconds
        guard milliseconds > 0 else { throw .timedOut }
        var answer = unsafe latchkey_fetch_answer()
        let field = traceparent.map { "traceparent: \($0)" } ?? ""
        unsafe withCStrings(url, field) { url, field in
            var request = unsafe latchkey_fetch_request()
            unsafe request.url = url
            unsafe request.timeout_milliseconds = milliseconds
            unsafe request.body_bytes_max = limits.byteCountMax
            unsafe request.may_connect = { context, address, count, port in
                let bytes = unsafe UnsafeRawBufferPointer(start: address, count: count)
                return unsafe Fetch.from(context).mayConnect(FetchAddress(bytes), port)
            }
            unsafe request.is_cancelled = { unsafe Fetch.from($0).isCancelled() }
            unsafe request.context = Unmanaged.passUnretained(self).toOpaque()
            let fields = unsafe traceparent == nil ? [nil] : [field, nil]
            unsafe fields.withUnsafeBufferPointer { fields in
                unsafe request.fields = fields.baseAddress
                unsafe latchkey_fetch_send(&request, &answer)
            }
        }
        defer { unsafe latchkey_fetch_answer_free(&answer) }
        return try unsafe Self.result(answer)
    }

    private func withCStrings(
        _ first: String,
        _ second: String,
        _ body: (UnsafePointer<CChar>, UnsafePointer<CChar>) -> Void
    ) {
        unsafe first.withCString { first in
            unsafe second.withCString { unsafe body(first, $0) }
        }
    }

    private static func result(_ answer: latchkey_fetch_answer) throws(FetchFailure) -> Answer {
        switch unsafe answer.outcome {
        case LATCHKEY_FETCH_ANSWERED: break
        case LATCHKEY_FETCH_CANCELLED: throw .cancelled
        case LATCHKEY_FETCH_TIMED_OUT: throw .timedOut
        case LATCHKEY_FETCH_TOO_LARGE: throw .tooLarge
        case LATCHKEY_FETCH_REFUSED: throw .notAllowed
        default:
            throw .unreachable(unsafe String(cString: latchkey_fetch_reason(answer.code)))
        }
        if let location = unsafe answer.location {
            return .redirect(unsafe String(cString: location))
        }
        let status = unsafe answer.status
        guard (200..<300).contains(status) else { throw .status(status) }
        return .body(
            unsafe Array(UnsafeBufferPointer(start: answer.body, count: answer.body_count))
        )
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Fetch {
        unsafe Unmanaged.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }

    /// Whether a connection to an address may be made.
    private func mayConnect(_ address: FetchAddress?, _ port: UInt16) -> Bool {
        guard let address else { return false }
        return address.isGlobal || isListed(address.text, port, standard: [80, 443])
    }

    private func isListed(_ host: String, _ port: UInt16, standard: Set<UInt16>) -> Bool {
        allowed.contains(AllowedOrigin(host: host, port: port))
            || standard.contains(port) && allowed.contains(AllowedOrigin(host: host, port: nil))
    }
}
