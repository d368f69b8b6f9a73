internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON

extension ServiceRequest {
    /// The number to add: the one member of the body, `by`, or 1 without a body.
    func incrementStep(depthMax: Int) throws(RequestFailure) -> Int64 {
        guard !exchange.body.isEmpty else {
            return 1
        }
        try jsonBody(depthMax: depthMax)
        return try unsafe exchange.body.withUnsafeBytes { (bytes) throws(RequestFailure) in
            var step: Int64?
            for (name, value) in unsafe JSONView(bytes).members {
                guard step == nil, name.isString("by"), let integer = value.integer else {
                    throw RequestFailure(.invalidBody)
                }
                step = integer
            }
            guard let step else {
                throw RequestFailure(.invalidBody)
            }
            return step
        }
    }
}
