/// The exit statuses of the client's commands.
package enum ClientStatus: Int32, CaseIterable, Sendable {
    case done = 0
    /// Nothing was changed: the service was not reached, something else answered, or its error is
    /// none of the others.
    case failed = 1
    /// The command line or the settings cannot be used.
    case usage = 2
    /// There is no such property.
    case missing = 3
    /// A condition did not hold, or a transaction took `else`.
    case unmet = 4
    /// The service refused: token, rate, share, limit, or it is stopping.
    case refused = 5
    /// The answer was lost, and so were those of the repeats.
    case unknown = 6

    /// The part of a manual that explains them.
    package static let manual = """
        Status:
          0    done
          1    nothing was changed: the service was not reached, something else answered
               in its place, or its error is none of these
          2    the command line, a file or a setting cannot be used
          3    there is no such property
          4    a condition does not hold, or the transaction took its else
          5    refused: no right, over a rate or a bound, or the service is stopping
          6    the write may have been made: its answer was lost
        """

    /// The status for a problem.
    package init(of status: Int, problem: String?) {
        self =
            switch (status, problem) {
            // Other problems of 404: there is no such path, or no such operation.
            case (404, "not-found"): .missing
            case (412, _): .unmet
            case (401, _), (403, _), (429, _), (503, _), (507, _): .refused
            case (500, "outcome-unknown"), (500, "answer-not-kept"): .unknown
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

    /// The failure of a problem of the service.
    package init(_ answer: ClientAnswer, from origin: String, hasToken: Bool) {
        let problem = answer.json
        status = ClientStatus(of: answer.status, problem: answer.problem)
        retryAfter = answer.retryAfter
        guard let title = problem?["title"]?.string, !title.isEmpty else {
            message = "\(origin) answers with status \(answer.status)."
            return
        }
        let detail = problem?["detail"]?.string
        var sentences = [title, detail].compactMap(\.self)
        if status == .missing {
            // The service's advice is about requests, not about commands. It follows the sentence
            // that ends with the name.
            sentences = [title]
            if let detail, let end = detail.firstRange(of: "`. ") {
                sentences = [detail[..<end.lowerBound] + "`."]
            }
        }
        if let leader = problem?["leader"]?.string { sentences.append("The leader is \(leader).") }
        if let line = problem?["line"]?.integer {
            let imported = problem?["imported"]?.integer ?? 0
            sentences.append("That is line \(line); \(imported) properties were imported.")
        }
        if answer.status == 401, !hasToken {
            sentences.append("Set LATCHKEY_TOKEN, or give --token-from.")
        }
        message = sentences.joined(separator: " ")
    }
}
