internal import CLatchkeyLoad
internal import Glibc
internal import LatchkeyTrace

/// Requests that are each sent when they are due: the open loop over HTTP, which `wrk` has not.
///
/// **Design.** The requests are made before the load, one text for all that are equal. The client
/// is C (`CLatchkeyLoad`): one thread with an event loop for all connections. It calls back on the
/// calling thread for each answer.
struct TimedLoad {
    /// What a request does.
    private struct Request: Hashable {
        var kind: TraceRecord.Kind?
        var key = 0
        var byteCount = 0
    }

    /// More bytes than this are not sent as one value.
    private static let valueByteCountMax = 1 << 20
    /// More bytes than this are not kept ready.
    private static let byteCountMax = 256 << 20

    private var requests: [latchkey_load_request] = []
    private var bytes: [UInt8] = []
    private var places: [Request: (first: Int, count: Int)] = [:]

    /// Requests at a constant rate: those of a plan, or such that touch no property.
    init(
        perSecond rate: Double,
        seconds: Double,
        _ plan: OperationPlan? = nil,
        stripes: Int = 1
    ) {
        for index in 0..<Int(rate * seconds) {
            let operation = plan.map { $0.operations[index % $0.operations.count] }
            let request = operation.map {
                Request(kind: $0.isWrite ? .put : .get, key: $0.key(stripes: stripes))
            }
            append(request ?? Request(), due: UInt64(Double(index) * 1e9 / rate))
        }
    }

    /// The part of a trace that a repeat measures, or as many requests that touch no property.
    init(
        _ trace: ReplayedTrace,
        seconds: Double,
        touchesProperties: Bool
    ) throws(ComparisonError) {
        let window = trace.measuredWindow(seconds: seconds)
        for operation in trace.operations where window.contains(operation.dueNanoseconds) {
            append(
                touchesProperties
                    ? Request(
                        kind: operation.kind,
                        key: operation.key % HTTPComparison.keysMax,
                        byteCount: TraceRecord.byteCountMin(sizeClass: operation.sizeClass)
                    ) : Request(),
                due: operation.dueNanoseconds - window.lowerBound
            )
            guard bytes.count <= Self.byteCountMax else {
                throw ComparisonError(
                    "The values of the trace need more than 256 MiB over HTTP: lower --duration."
                )
            }
        }
    }

    private mutating func append(_ request: Request, due: UInt64) {
        let place: (first: Int, count: Int)
        if let known = places[request] {
            place = known
        } else {
            let text = Self.text(request)
            place = (bytes.count, text.count)
            bytes += text
            places[request] = place
        }
        requests.append(latchkey_load_request(due: due, first: place.first, count: place.count))
    }

    private static func text(_ request: Request) -> [UInt8] {
        let property = "/v1/properties/\(LoadScript.name(request.key))"
        let count = min(request.byteCount, valueByteCountMax)
        let value = count == 0 ? LoadScript.value : json(byteCount: count)
        let (line, type, body): (String, String, String) =
            switch request.kind {
            case nil: ("GET /healthz", "", "")
            case .get: ("GET \(property)", "", "")
            case .put: ("PUT \(property)", "application/json", value)
            // On properties of their own, whose values are numbers.
            case .increment: ("POST \(property)-count/increment", "application/json", "{}")
            case .merge: ("PATCH \(property)", "application/merge-patch+json", value)
            case .delete: ("DELETE \(property)", "", "")
            case .list: ("GET /v1/properties?limit=100", "", "")
            }
        let fields =
            body.isEmpty ? "" : "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
        return Array("\(line) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n\(body)".utf8)
    }

    /// A JSON text of this size.
    private static func json(byteCount: Int) -> String {
        byteCount < 2
            ? "1" : "\"" + String(repeating: "x", count: byteCount - 2) + "\""
    }

    /// What came back, in the order of the answers.
    private final class Answers {
        let isInterrupted: () -> Bool
        var times: [(request: Int, began: UInt64, ended: UInt64)] = []
        var refused = 0

        init(count: Int, isInterrupted: @escaping () -> Bool) {
            self.isInterrupted = isInterrupted
            times.reserveCapacity(count)
        }

        static func of(_ context: UnsafeMutableRawPointer) -> Answers {
            unsafe Unmanaged<Answers>.fromOpaque(context).takeUnretainedValue()
        }
    }

    /// Sends the requests to a service.
    ///
    /// Blocks for the duration, and for some seconds more if answers are missing.
    func run(
        port: UInt16,
        connections: Int,
        seconds: Double,
        isInterrupted: @escaping () -> Bool
    ) throws(ComparisonError) -> LoadGenerator.Result {
        let nanoseconds = UInt64(seconds * 1e9)
        let answers = Answers(count: requests.count, isInterrupted: isInterrupted)
        // SAFETY: the load has ended, and uses neither the requests nor the answers, when
        // latchkey_load_run returns.
        let outcome = unsafe requests.withUnsafeBufferPointer { requests in
            unsafe bytes.withUnsafeBufferPointer { bytes -> latchkey_load_outcome in
                guard let first = requests.baseAddress, let text = bytes.baseAddress else {
                    return latchkey_load_outcome()
                }
                var load = unsafe latchkey_load(
                    port: port,
                    connections: UInt32(connections),
                    requests: first,
                    request_count: requests.count,
                    bytes: text,
                    nanoseconds: nanoseconds,
                    is_closed: false,
                    answered: { context, request, status, began, ended in
                        let answers = unsafe Answers.of(context)
                        answers.times.append((request, began, ended))
                        answers.refused += TimedLoad.isGood(status) ? 0 : 1
                    },
                    is_interrupted: { context in unsafe Answers.of(context).isInterrupted() },
                    context: Unmanaged.passUnretained(answers).toOpaque()
                )
                return unsafe latchkey_load_run(&load)
            }
        }
        guard outcome.error == 0 else {
            let reason = unsafe String(cString: strerror(outcome.error))
            throw ComparisonError("The service cannot be reached: \(reason).")
        }
        return try result(answers, outcome, nanoseconds)
    }

    private func result(
        _ answers: Answers,
        _ outcome: latchkey_load_outcome,
        _ nanoseconds: UInt64
    ) throws(ComparisonError) -> LoadGenerator.Result {
        let responses = Responses()
        var isAnswered = [Bool](repeating: false, count: outcome.begun)
        for (request, began, ended) in answers.times {
            isAnswered[request] = true
            ResponseTiming(
                intendedAt: outcome.start + requests[request].due,
                startedAt: began,
                responses: responses
            ).end(at: ended)
        }
        // What was due and has no answer has waited until the end, at least.
        for (index, request) in requests.enumerated() where request.due < nanoseconds {
            if index >= outcome.begun || !isAnswered[index] {
                responses.fromIntended.record(nanoseconds - request.due)
            }
        }
        guard let response = responses.fromStart.durations() else {
            throw ComparisonError("The service has not answered.")
        }
        return LoadGenerator.Result(
            operations: answers.times.count - answers.refused,
            seconds: Double(nanoseconds) / 1e9,
            refused: answers.refused,
            lost: outcome.lost,
            response: response,
            responseFromIntendedStart: responses.fromIntended.durations(),
            startDelay: responses.startDelays.durations()
        )
    }

    /// Whether a status is the answer of a service that does what it is asked.
    ///
    /// A trace may ask for a property that is not there.
    private static func isGood(_ status: UInt32) -> Bool {
        200..<300 ~= status || status == 304 || status == 404
    }
}
