internal import LatchkeyHTTP
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The serving store, whose strategy is not part of its type.
///
/// **Design.** Closures: they are made where the strategy is known, so they are compiled for it.
/// All that uses them is compiled once. Each has one type of observer and one of receiver, because
/// each combination is compiled for each strategy, too.
struct ServedStore: Sendable {
    /// Takes samples of the operations, if the service records them.
    private let recorder: TraceRecorder?
    private let reading:
        @Sendable (PropertyName, ServiceRequest, Conditions, CallSite) throws(BacklogFull) -> Void
    private let looking:
        @Sendable (
            PropertyName, CallSite, @escaping @Sendable (Property?) -> Void
        ) throws(BacklogFull) -> Void
    private let committing:
        @Sendable (Change, TimingObserver, ChangeAnswer) throws(BacklogFull) -> Void
    private let committingAny:
        @Sendable (Change, TimingObserver, AnyAnswer) throws(BacklogFull) -> Void
    private let listing:
        @Sendable (PageRequest, TimingObserver, @escaping @Sendable (Page) -> Void) -> Void

    /// Takes all properties as of one revision.
    let snapshot: @Sendable (@escaping @Sendable (StoreSnapshot) -> Void) -> Void

    init(_ store: some CommittingStore, recorder: TraceRecorder? = nil) {
        self.recorder = recorder
        reading = { (name, request, conditions, site) throws(BacklogFull) in
            let observer = TimingObserver(timing: request.timing, site: site)
            try store.look(name, observer: observer) { request.answer($0, conditions) }
        }
        looking = { (name, site, completion) throws(BacklogFull) in
            let observer = TimingObserver(timing: nil, site: site)
            try store.look(name, observer: observer, completion: completion)
        }
        committing = { (change, observer, answer) throws(BacklogFull) in
            try store.commit(change, observer: observer, receiver: answer)
        }
        committingAny = { (change, observer, answer) throws(BacklogFull) in
            try store.commit(change, observer: observer, receiver: answer)
        }
        listing = { store.list($0, observer: $1, completion: $2) }
        snapshot = { store.snapshot(completion: $0) }
    }

    /// Finds a property and answers the request with it.
    ///
    /// One function with the answer: a completion that is handed in here would be allocated.
    func read(
        _ name: PropertyName,
        _ request: ServiceRequest,
        _ conditions: Conditions,
        _ site: CallSite
    ) throws(BacklogFull) {
        recorder?.record(reading: name)
        try reading(name, request, conditions, site)
    }

    /// Finds a property that is served.
    func look(
        _ name: PropertyName,
        _ site: CallSite,
        _ completion: @escaping @Sendable (Property?) -> Void
    ) throws(BacklogFull) {
        recorder?.record(reading: name)
        try looking(name, site, completion)
    }

    /// Decides a change of one property, and makes it or refuses it.
    ///
    /// Nothing of it is recorded later: no decision chooses between steps.
    func commit(
        _ change: Change,
        _ observer: TimingObserver,
        _ answer: ChangeAnswer
    ) throws(BacklogFull) {
        _ = recorder?.record(change)
        try committing(change, observer, answer)
    }

    /// The same for any change, and for what follows in an object.
    func commitAny(
        _ change: Change,
        _ observer: TimingObserver,
        _ answer: AnyAnswer
    ) throws(BacklogFull) {
        let recorded = recorder?.record(change).map { AnyAnswer.recorded($0, answer) }
        try committingAny(change, observer, recorded ?? answer)
    }

    /// Makes a change that no request asks for by itself, in the name of an author.
    func commit(
        _ change: Change,
        author: [UInt8]?,
        fileID: StaticString = #fileID,
        line: UInt = #line,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        let observer = TimingObserver(timing: nil, site: CallSite(fileID, line))
        try commitAny(change, observer, .other(AnyAnswer.Other(author, completion)))
    }

    /// Lists properties.
    func list(
        _ request: PageRequest,
        _ observer: TimingObserver,
        _ completion: @escaping @Sendable (Page) -> Void
    ) {
        recorder?.recordList()
        listing(request, observer, completion)
    }

    /// Takes all properties as of one revision, for a list that is made behind that.
    func takeSnapshotToList(_ completion: @escaping @Sendable (StoreSnapshot) -> Void) {
        recorder?.recordList()
        snapshot(completion)
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
        if let commit = request.committed(decision) {
            answer(commit, request)
        }
    }

    var author: [UInt8]? { request.caller.author }

    var identity: RequestIdentity? { request.keeper?.identity }

    func note(for commit: Commit) -> CommitNote? {
        request.note { answer(commit, $0) }
    }

    private func answer(_ commit: Commit, _ request: ServiceRequest) {
        switch kind {
        case .put:
            let status = commit.first?.isCreation == true ? HTTPStatus.created : .noContent
            request.respond(status) {
                $0.add("ETag", quoted: commit.revision)
            } audit: {
                $0.commit = commit
            }
        case .value:
            if let property = commit.first?.property {
                request.respond(value: property, at: commit.time, audit: { $0.commit = commit })
            }
        case .deletion: request.respond(.noContent, audit: { $0.commit = commit })
        case .touch:
            request.respond(.noContent) { answer in
                if let property = commit.first?.property {
                    answer.add("ETag", quoted: property.revision)
                }
            } audit: {
                $0.commit = commit
            }
        }
    }
}

/// What follows any other decision, in one reference.
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

    var identity: RequestIdentity? {
        switch self {
        case .transaction(let answer): answer.identity
        case .waiting(let round): round.identity
        case .other: nil
        case .recorded(_, let answer): answer.identity
        }
    }

    func note(for commit: Commit) -> CommitNote? {
        switch self {
        case .transaction(let answer): answer.note(for: commit)
        case .waiting(let round): round.note(for: commit)
        case .other(let other): CommitNote(author: other.author, bytes: nil)
        case .recorded(_, let answer): answer.note(for: commit)
        }
    }
}
