internal import LatchkeyFrame
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
    ///   - body: Its body; nil if there is no room for it.
    init?(_ status: HTTPStatus, fields: [ResponseField]?, body: [UInt8]?) {
        guard Self.keeps(status) else {
            return nil
        }
        switch (fields, body) {
        case (nil, _):
            self = .outcomeUnknown
        case (_, nil):
            self = .notKept
        case (let fields?, let body?):
            self.init(status: status.rawValue, fields: fields, body: body)
        }
    }

    /// Whether answers with this status are kept.
    static func keeps(_ status: HTTPStatus) -> Bool {
        ![401, 403, 429].contains(status.rawValue) && status.rawValue < 501
    }

    private static let outcomeUnknown = KeptAnswer(.outcomeUnknown)

    /// Stands for an answer that was too long to be kept.
    ///
    /// Only answers with values are.
    static let notKept = KeptAnswer(.answerNotKept)

    /// The answer with a problem that has no fields of its own.
    init(_ problem: Problem, detail: String? = nil) {
        self.init(
            status: UInt16(problem.status),
            fields: [ResponseField(name: "Content-Type", value: "application/problem+json")],
            body: problem.json(detail: detail)
        )
    }
}
