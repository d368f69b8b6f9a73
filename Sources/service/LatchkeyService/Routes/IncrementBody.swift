internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyStore

extension ServiceRequest {
    /// The number to add: the only member of the body, `by`, or 1 without a body.
    func incrementStep(depthMax: Int) throws(RequestFailure) -> Int64 {
        guard !exchange.body.isEmpty else {
            return 1
        }
        try jsonBody(depthMax: depthMax)
        return try unsafe exchange.body.withUnsafeBytes { (bytes) throws(RequestFailure) in
            var step: Int64?
            for (name, value) in unsafe JSONView(bytes).members {
                guard name.isString("by") else {
                    let correction = name.correction(among: ["by"], "This member")
                    throw RequestFailure(.invalidBody, correction)
                }
                guard step == nil, let integer = value.integer else {
                    throw RequestFailure(.invalidBody, "by must be one 64-bit integer.")
                }
                step = integer
            }
            guard let step else {
                throw RequestFailure(.invalidBody, "Send no body to add 1, or {\"by\": 5}.")
            }
            return step
        }
    }
}
