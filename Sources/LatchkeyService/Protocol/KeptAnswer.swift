internal import LatchkeyHTTP

/// An answer that is kept, to be given again.
struct KeptAnswer: Sendable {
    let status: UInt16
    let fields: [ResponseField]
    let body: [UInt8]

    /// How much memory it takes at most.
    var byteCount: Int {
        fields.reduce(body.count) {
            $0 + MemoryLayout<ResponseField>.stride + $1.value.utf8.count
        }
    }
}

extension KeptAnswer {
    /// What is kept of an answer; nil if the request was refused and can run again.
    ///
    /// 429 and everything above 500 mean that nothing was applied. 500 means that the outcome is
    /// not known. It is kept, because a repeat must not run: the change could be made twice.
    ///
    /// - Parameters:
    ///   - status: Of the answer.
    ///   - fields: Its header fields; nil if the answer could not be made. Its request has had its
    ///     effect then.
    ///   - body: Its body.
    init?(_ status: HTTPStatus, fields: [ResponseField]?, body: [UInt8]) {
        switch (status.rawValue, fields) {
        case (429, _), (501..., _):
            return nil
        case (_, nil):
            self = .outcomeUnknown
        case (let status, let fields?):
            self.init(status: status, fields: fields, body: body)
        }
    }

    private static let outcomeUnknown = KeptAnswer(.outcomeUnknown)

    /// Stands for an answer that was too long to be kept.
    ///
    /// Only answers with values are.
    static let notKept = KeptAnswer(.answerNotKept)

    private init(_ problem: Problem) {
        self.init(
            status: UInt16(problem.status),
            fields: [ResponseField(name: "Content-Type", value: "application/problem+json")],
            body: problem.json()
        )
    }
}
