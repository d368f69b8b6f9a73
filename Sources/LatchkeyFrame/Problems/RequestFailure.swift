/// An error that a request is answered with.
package struct RequestFailure: Error {
    package let problem: Problem
    /// A sentence about this occurrence, without text from the client.
    package var detail: String?
    /// After how long the client may try again; nil for what the problem says.
    package var retryAfterSeconds: Int?
    /// Whether this replica has stopped: another one is to be asked, and waiting does not help.
    package var isForOther = false

    package init(_ problem: Problem, _ detail: String? = nil) {
        self.problem = problem
        self.detail = detail
    }
}
