internal import LatchkeyFrame
internal import LatchkeyGuards
internal import LatchkeyHTTP
internal import LatchkeyReplicas
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The properties that are served, as requests use them.
///
/// Looks and lists go to the store; changes go to the store, too, or into the log of a cluster.
/// Requests are recorded, if the service records a trace.
struct ServedProperties: Sendable {
    private let base: PropertyStore
    /// Puts changes into the log, in a cluster.
    private let replicated: ReplicatedStore?
    /// Takes samples of the operations, if the service records them.
    private let recorder: TraceRecorder?

    init(
        _ base: PropertyStore,
        replicated: ReplicatedStore? = nil,
        recorder: TraceRecorder? = nil
    ) {
        (self.base, self.replicated, self.recorder) = (base, replicated, recorder)
    }

    /// Finds a property and answers the request with it.
    ///
    /// Without a closure, which would be allocated, unless the answer comes later.
    func read(
        _ name: PropertyName,
        _ request: ServiceRequest,
        _ conditions: Conditions,
        _ ask: Ask
    ) throws(BacklogFull) {
        recorder?.record(reading: name)
        let look = base.look(name, in: .live, ask)
        if case .found(let property) = look {
            request.answer(property, conditions)
        } else {
            try complete(look, name, request, conditions, ask)
        }
    }

    @inline(never)
    private func complete(
        _ look: Look,
        _ name: PropertyName,
        _ request: ServiceRequest,
        _ conditions: Conditions,
        _ ask: Ask
    ) throws(BacklogFull) {
        try base.complete(look, name, in: .live, ask) { request.answer($0, conditions) }
    }

    /// Finds a property that is served.
    func look(
        _ name: PropertyName,
        _ ask: Ask,
        _ completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        recorder?.record(reading: name)
        try base.look(name, in: .live, ask, completion: completion)
    }

    /// Decides a change of one property, and makes it or refuses it.
    ///
    /// It is recorded at once: no decision chooses between steps.
    func commit(_ change: Change, _ ask: Ask, _ answer: ChangeAnswer) throws(BacklogFull) {
        _ = recorder?.record(change)
        try pass(change, ask, answer, answer.request.key)
    }

    /// The same for any change, with an answer in one reference.
    func commitAny(_ change: Change, _ ask: Ask, _ answer: AnyAnswer) throws(BacklogFull) {
        let recorded = recorder?.record(change).map { AnyAnswer.recorded($0, answer) }
        try pass(change, ask, recorded ?? answer, answer.key)
    }

    private func pass(
        _ change: Change,
        _ ask: Ask,
        _ receiver: some DecisionReceiver,
        _ key: RequestKey?
    ) throws(BacklogFull) {
        if let key {
            try send(change, ask, Keeping(receiver, change, key))
        } else {
            try send(change, ask, receiver)
        }
    }

    private func send(
        _ change: Change,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        if let replicated {
            try replicated.commit(change, ask, receiver: receiver)
        } else {
            try base.commit(change, ask, receiver: receiver)
        }
    }

    /// Makes a change that is not one request's own, in the name of an author.
    func commit(
        _ change: Change,
        author: [UInt8]?,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        try commitAny(change, .here(fileID, line), .other(AnyAnswer.Other(author, completion)))
    }

    /// Lists properties.
    func list(
        _ request: PageRequest,
        _ ask: Ask,
        _ completion: @escaping @Sendable (Page) -> Void
    ) {
        recorder?.recordList()
        base.list(request, ask, completion: completion)
    }

    /// Counts properties.
    func count(
        prefix: OwnedBytes,
        _ ask: Ask,
        _ completion: @escaping @Sendable (PropertyCount) -> Void
    ) {
        base.count(prefix: prefix, ask, completion: completion)
    }

    /// Takes all properties as of one revision.
    func snapshot(_ ask: Ask, _ completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        base.snapshot(ask, completion: completion)
    }

    /// Takes all properties as of one revision, for a list that is made from them.
    func takeSnapshotToList(
        _ ask: Ask,
        _ completion: @escaping @Sendable (StoreSnapshot) -> Void
    ) {
        recorder?.recordList()
        snapshot(ask, completion)
    }
}

/// Answers a request that changes one property.
///
/// The kind has no payload: an enumeration of requests costs more for each copy.
struct ChangeAnswer: DecisionReceiver {
    enum Kind: Sendable {
        /// With the revision.
        case put
        /// With the value that the change leaves.
        case value
        /// Without a body.
        case deletion
        /// With the revision that the property keeps.
        case touch
    }

    let request: ServiceRequest
    let kind: Kind

    func receive(_ decision: Decision) {
        guard let commit = request.committed(decision) else { return }
        // A repeat changes nothing, so that it can be refused.
        let bound = commit.isRepeat ? AnswerBound.refuses : .refusesReads
        request.respond(status(commit), body: body(commit), bound: bound) {
            add(commit, to: &$0)
        } audit: {
            $0.commit = commit
        }
    }

    var author: [UInt8]? { request.caller.author }

    private func status(_ commit: Commit) -> HTTPStatus {
        switch kind {
        case .put: commit.first?.isCreation == true ? .created : .noContent
        case .value: .ok
        case .deletion, .touch: .noContent
        }
    }

    private func body(_ commit: Commit) -> ResponseBody {
        guard kind == .value, let property = commit.first?.property else { return .none }
        return ResponseBody(valueOf: property)
    }

    private func add(_ commit: Commit, to answer: inout ResponseFields) {
        switch kind {
        case .put: answer.add("ETag", quoted: commit.revision)
        case .value:
            if let property = commit.first?.property { answer.add(property, at: commit.time) }
        case .deletion: break
        case .touch:
            if let property = commit.first?.property {
                answer.add("ETag", quoted: property.revision)
            }
        }
    }
}

/// The receiver of any other decision, in one reference.
enum AnyAnswer: DecisionReceiver {
    case transaction(TransactionAnswer)
    case waiting(TransactionWait.Round)
    case other(Other)
    /// Records the decision before the answer receives it.
    indirect case recorded(@Sendable (Decision) -> Void, AnyAnswer)

    final class Other: Sendable {
        fileprivate let author: [UInt8]?
        fileprivate let receive: @Sendable (Decision) -> Void

        init(_ author: [UInt8]?, _ receive: @escaping @Sendable (Decision) -> Void) {
            self.author = author
            self.receive = receive
        }
    }

    func receive(_ decision: Decision) {
        switch self {
        case .transaction(let answer): answer.receive(decision)
        case .waiting(let round): round.receive(decision)
        case .other(let other): other.receive(decision)
        case .recorded(let record, let answer):
            record(decision)
            answer.receive(decision)
        }
    }

    var author: [UInt8]? {
        switch self {
        case .transaction(let answer): answer.author
        case .waiting(let round): round.author
        case .other(let other): other.author
        case .recorded(_, let answer): answer.author
        }
    }

    /// The key of the request that makes the change; nil if it has none.
    fileprivate var key: RequestKey? {
        switch self {
        case .transaction(let answer): answer.request.key
        case .waiting(let round): round.key
        case .other: nil
        case .recorded(_, let answer): answer.key
        }
    }
}
