/// The exit statuses of the client's commands.
package enum ClientStatus: Int32, CaseIterable, Sendable {
    case done = 0
    /// The service did not answer, or answered with an error that is none of the others.
    case failed = 1
    /// The command line or the settings cannot be used.
    case usage = 2
    /// There is no such property.
    case missing = 3
    /// A condition did not hold, or a transaction took `else`.
    case unmet = 4
    /// The service refused: token, rate, share, bound, or it is stopping.
    case refused = 5

    /// The part of a manual that explains them.
    package static let manual = """
        Status:
          0    done
          1    the service did not answer, or with another error than these
          2    the command line, a file or a setting cannot be used
          3    there is no such property
          4    a condition does not hold, or the transaction took its else
          5    refused: no right, over a rate or a bound, or the service is stopping
        """

    /// The status for an answer with this status, and this problem if it has one.
    package init(of status: Int, problem: String?) {
        self =
            switch (status, problem) {
            case (200..<300, _): .done
            // Other problems of 404: there is no such path, or no such operation.
            case (404, "not-found"): .missing
            case (412, _): .unmet
            case (401, _), (403, _), (429, _), (503, _), (507, _): .refused
            case _: .failed
            }
    }
}

/// Why a command was not done: a sentence, and the status that it ends with.
package struct ClientFailure: Error, Equatable {
    package let status: ClientStatus
    package let message: String
    /// The seconds after which the service asks to try again.
    package var retryAfter: Int?

    package init(_ status: ClientStatus, _ message: String) {
        self.status = status
        self.message = message
    }

    /// The failure that an answer without success is.
    package init(_ answer: ClientAnswer, from origin: String, hasToken: Bool) {
        let problem = answer.json
        let name = problem?["type"]?.string?.split(separator: "/").last.map(String.init)
        let title = problem?["title"]?.string
        let detail = problem?["detail"]?.string
        status = ClientStatus(of: answer.status, problem: name)
        retryAfter = answer.field("retry-after").flatMap { Int($0) }
        guard let title, !title.isEmpty else {
            message = "\(origin) answers with status \(answer.status)."
            return
        }
        // What the service advises then is about requests, not about commands.
        let sentence = status == .missing ? title : detail.map { "\(title) \($0)" } ?? title
        message =
            answer.status == 401 && !hasToken
            ? "\(sentence) Set LATCHKEY_TOKEN, or give --token-from." : sentence
    }
}
