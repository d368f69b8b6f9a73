import LatchkeySettings
import Testing

@testable import LatchkeyClient

/// A service that answers by a script, with a clock that only its answers and pauses move.
final class ScriptedService: ClientTransport {
    struct Step {
        let seconds: Double
        /// Nil for none at all.
        let result: Result<ClientAnswer, ConnectionFailure>?

        static func answers(
            _ status: Int,
            _ type: String? = nil,
            tag: String? = nil,
            _ body: String = "",
            fields: String = "",
            after seconds: Double = 0
        ) -> Self {
            let lines =
                (type.map { "Content-Type: \($0)\r\n" } ?? "")
                + (tag.map { "ETag: \"\($0)\"\r\n" } ?? "") + fields
            let head = "HTTP/1.1 \(status) X\r\n\(lines)\r\n"
            let answer = ClientAnswer(
                status: status,
                head: Array(head.utf8),
                body: Array(body.utf8)
            )
            return Self(seconds: seconds, result: .success(answer))
        }

        static func problem(_ status: Int, _ name: String, fields: String = "") -> Self {
            let body = #"{"type":"/problems/\#(name)","title":"A title.","detail":"A detail."}"#
            return answers(status, "application/problem+json", body, fields: fields)
        }

        static func fails(_ kind: ConnectionFailure.Kind, after seconds: Double = 0) -> Self {
            Self(seconds: seconds, result: .failure(ConnectionFailure(kind, "a reason")))
        }

        static let silent = Self(seconds: 0, result: nil)
    }

    let origin = "http://a"
    let hasToken = true
    let timeLimit: Duration
    private(set) var now = start
    private(set) var requests: [ClientRequest] = []
    /// The last step comes again and again.
    private var script: [Step]

    private static let start: UInt64 = 1_000_000_000_000

    init(_ script: [Step], timeLimit: Duration = .seconds(10)) {
        self.script = script
        self.timeLimit = timeLimit
    }

    var elapsed: Double { Double(now - Self.start) / 1e9 }
    var keys: [String?] { requests.map(\.key) }
    /// Methods and targets.
    var lineage: [String] { requests.map { "\($0.method.rawValue) \($0.target)" } }

    func pause(until time: UInt64, isCancelled: () -> Bool) {
        now = max(now, time)
    }

    func send(
        _ request: ClientRequest,
        isCancelled: () -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer {
        guard !isCancelled() else {
            throw ConnectionFailure(.cancelled, "cancelled", isUnsent: true)
        }
        requests.append(request)
        let limit = UInt64((request.timeLimit ?? timeLimit).wholeNanoseconds)
        let step = script.count > 1 ? script.removeFirst() : script[0]
        let time = UInt64(step.seconds * 1e9)
        guard let result = step.result, time < limit else {
            now += limit
            throw ConnectionFailure(.timedOut, "no answer in time")
        }
        now += time
        return try result.get()
    }

    func stream(
        _ request: ClientRequest,
        type: String?,
        isCancelled: () -> Bool,
        take: (UnsafeRawBufferPointer) -> Bool
    ) throws(ConnectionFailure) -> ClientAnswer {
        let answer = try send(request, isCancelled: isCancelled)
        guard answer.isSuccess, answer.mediaType == type else { return answer }
        let isTaken = unsafe answer.body.withUnsafeBytes { unsafe take($0) }
        guard isTaken else { throw ConnectionFailure(.cancelled, "enough") }
        return ClientAnswer(
            status: answer.status,
            head: Array("HTTP/1.1 200 OK\r\nContent-Type: \(type ?? "")\r\n".utf8)
        )
    }
}
