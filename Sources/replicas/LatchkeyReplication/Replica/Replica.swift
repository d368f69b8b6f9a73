internal import Dispatch
package import LatchkeyStore
package import LatchkeySync

/// One replica of a cluster.
///
/// It appends the changes of its clients to a log, and executes the entries of the log, those of
/// all replicas, in their order.
///
/// A client gets its answer when the log has delivered the entry with its change. So a change means
/// the same on one machine and on many, and nothing is in memory before it is ordered.
///
/// **Design.** The log calls ``receive(_:)`` on its own thread, one event after the other: that
/// thread executes. `queue` makes entries and sends them again, and `answers` calls clients back,
/// so that execution waits for none of that. They share `state`, which is not held while anything
/// is called or executed.
///
/// One entry is in flight. Other changes wait meanwhile, and make the next one: so entries grow
/// with the load. When one has come, the next one waits a little for clients that have got their
/// answers and send again: a large entry costs etcd little more than a small one.
///
/// An entry that is sent again has the same sequence number, and a replica that has executed it
/// skips it. An entry that was sent is never given up while it can be in the log: its clients are
/// told that its outcome is unknown.
package final class Replica: Sendable {
    package typealias Completion = @Sendable (Decision) -> Void

    /// The settings of a replica.
    package struct Settings: Sendable {
        /// A random number, which no other process of the cluster has.
        package var incarnation: UInt64
        /// How many changes and bytes of them wait at most.
        package var waitingCountMax = 100_000
        package var waitingByteCountMax = 64 << 20
        /// When an entry has come, the next one waits at most this long for more changes, and no
        /// longer than the former one has taken.
        package var gatherNanoseconds: UInt64 = 6_000_000
        /// A change that was not sent for this time is refused.
        package var refusalNanoseconds: UInt64 = 1_800_000_000
        /// An entry that did not come is sent again after this time at least; after a longer one
        /// where entries have taken longer lately (``RepetitionTime``).
        ///
        /// etcd has a new leader 1 to 2 s after the last one has gone, and has lost what it got
        /// before; and one of three servers can be the one that is cut off. So the first
        /// repetitions come often, for writes to go on within 3 s. Later ones come more rarely:
        /// a log that is only slow delivers nothing while servers are changed.
        package var repetitionNanoseconds: UInt64 = 600_000_000
        /// No entry is sent once the log was silent for this time: changes that were not sent can
        /// still be refused, and others cannot.
        package var silenceNanoseconds: UInt64 = 1_500_000_000
        /// Clients that wait for an entry are told after this time that its outcome is unknown.
        package var unknownNanoseconds: UInt64 = 5_000_000_000
        /// The time between two questions for the end of the log, if no read asks.
        package var questionNanoseconds: UInt64 = 200_000_000
        /// The time between two marks.
        package var markNanoseconds: UInt64 = 10_000_000_000
        /// The latest rules that it knows.
        package var known = RuleLevel.current
        /// The longest request that the log takes; nil if that is not known.
        package var requestByteCountMax: Int?

        var bounds: LogBounds { LogBounds(requestByteCountMax: requestByteCountMax) }

        package init(incarnation: UInt64) {
            self.incarnation = incarnation
        }
    }

    /// The clocks.
    package struct Clocks: Sendable {
        /// Never goes back, and counts while the machine sleeps.
        package let nanoseconds: @Sendable () -> UInt64
        package let calendar: @Sendable () -> Timestamp

        package init(
            nanoseconds: @escaping @Sendable () -> UInt64,
            calendar: @escaping @Sendable () -> Timestamp
        ) {
            self.nanoseconds = nanoseconds
            self.calendar = calendar
        }
    }

    /// The callbacks of the owner, on threads of the replica, which they must not block.
    package struct Callbacks: Sendable {
        /// The state has all that was acknowledged anywhere before this time, of the clock.
        package let isLevel: @Sendable (_ nanoseconds: UInt64) -> Void
        /// The phase of the replica has changed.
        package let changed: @Sendable (Phase) -> Void
        /// The clock of the log has advanced: what expires before has expired.
        package let advanced: @Sendable (Timestamp) -> Void
        /// The log has refused an entry as too large: later ones have at most this many bytes of
        /// changes.
        package let shortened: @Sendable (_ byteCount: Int) -> Void
        /// The log has reported its identity, or when it was made.
        package let identified: @Sendable () -> Void

        package init(
            isLevel: @escaping @Sendable (UInt64) -> Void,
            changed: @escaping @Sendable (Phase) -> Void,
            advanced: @escaping @Sendable (Timestamp) -> Void,
            shortened: @escaping @Sendable (Int) -> Void = { _ in },
            identified: @escaping @Sendable () -> Void = {}
        ) {
            self.isLevel = isLevel
            self.changed = changed
            self.advanced = advanced
            self.shortened = shortened
            self.identified = identified
        }
    }

    /// The phase of a replica.
    package enum Phase: Sendable, Equatable {
        /// It has no connection to the log yet, or none any more.
        case connecting(String)
        /// It executes what it has missed.
        case catchingUp
        /// It takes changes.
        case serving
        /// The log has forgotten what the replica needs: it needs the state of another one.
        case tooLate
        /// It has stopped: it cannot execute the next entry of the log. Its state is right.
        case diverged(String)
        /// It has stopped: the log is another one than that of its state, which is right, and can
        /// be the only one.
        case otherLog(String)
        /// It has stopped for good: its state is not that of the others.
        case differs(String)
        case draining

        /// Whether it executes nothing any more.
        package var isFinal: Bool {
            switch self {
            case .tooLate, .diverged, .otherLog, .differs: true
            case .connecting, .catchingUp, .serving, .draining: false
            }
        }

        /// Whether the log must be kept for it: it, or a later version, can go on after its place.
        package var needsLog: Bool {
            switch self {
            case .tooLate, .otherLog, .differs: false
            case .connecting, .catchingUp, .serving, .diverged, .draining: true
            }
        }
    }

    /// Counts of what the replica has put into the log since it started.
    package struct Counts: Sendable, Equatable {
        package var entries: UInt64 = 0
        package var changes: UInt64 = 0
        /// From the first sending of each entry until it was executed here, in nanoseconds.
        package var nanoseconds: UInt64 = 0
        /// How often an entry was sent again.
        package var repetitions: UInt64 = 0
    }

    struct Waiting: Sendable {
        let encoded: [UInt8]
        let since: UInt64
        let completion: Completion
    }

    /// Another life of the log, which an entry is to begin.
    struct Life: Sendable {
        let revision: Revision
        let since: UInt64
        /// Told whether it has begun.
        let completion: @Sendable (Bool) -> Void
    }

    struct State: Sendable {
        var phase = Phase.connecting("")
        var position: LogPosition
        var sequence: UInt64 = 0
        var waiting: [Waiting] = []
        var waitingByteCount = 0
        /// An entry takes no more changes beyond this many bytes.
        var entryByteCountMax: Int
        var inFlight: InFlight?
        /// The entry that was refused when it was sent again: until a later one has come, it can be
        /// in the log, or still come.
        var refused: InFlight?
        var repetitionTime: RepetitionTime
        /// Nine tenths of the changes that lately waited or were in flight at the same time.
        ///
        /// It fades fast: a client that remains alone must wait for few entries.
        var gathering = Gathering(percent: 90, fading: 2)
        /// An entry waits for more changes until this time at most.
        var gathersUntil: UInt64 = 0
        /// Whether ``send()`` is due on the queue.
        var isSending = false
        var marks = Marks()
        var lastMark: UInt64
        var questions = Questions()
        /// When the log has delivered or answered something last.
        var heard: UInt64 = 0
        /// When it has delivered something last, or has answered that there is nothing more.
        var fresh: UInt64 = 0
        var counts = Counts()
        /// The rules that the next entry is to raise the log to.
        var raise: RuleLevel?
        /// The life that the next entry is to begin.
        var life: Life?
    }

    let settings: Settings
    let log: any ReplicatedLog
    let store: any ReplicatedState
    let clocks: Clocks
    let callbacks: Callbacks
    let state: Guarded<State>
    let queue = DispatchQueue(label: "latchkey.replica", qos: .userInitiated)
    /// Calls clients back, which write their answers.
    let answers = DispatchQueue(label: "latchkey.replica.answers", qos: .userInitiated)

    package init(
        _ settings: Settings,
        log: any ReplicatedLog,
        store: any ReplicatedState,
        at position: LogPosition,
        _ clocks: Clocks,
        _ callbacks: Callbacks
    ) {
        self.settings = settings
        self.log = log
        self.store = store
        self.clocks = clocks
        self.callbacks = callbacks
        state = Guarded(
            State(
                position: position,
                entryByteCountMax: settings.bounds.entryByteCountMax,
                repetitionTime: RepetitionTime(atLeast: settings.repetitionNanoseconds),
                lastMark: clocks.nanoseconds()
            )
        )
        store.decide(by: position.rules)
    }

    /// Begins to follow the log.
    package func start() {
        let place = state.read { $0.position.place }
        log.follow(after: place) { [weak self] in self?.receive($0) }
    }

    package var phase: Phase { state.read { $0.phase } }
    package var position: LogPosition { state.read { $0.position } }
    package var counts: Counts { state.read { $0.counts } }

    /// Sends an entry that raises the rules of the log, once.
    ///
    /// All replicas that take part know these rules, and no replica that does not can join any
    /// more.
    ///
    /// It is not tried again: the caller asks until ``position`` has the rules.
    package func raise(to rules: RuleLevel) {
        let sends = state.write { state in
            guard state.position.rules < rules, rules <= settings.known else { return false }
            state.raise = rules
            return state.beginsSending(at: clocks.nanoseconds())
        }
        if sends { queue.async { [self] in send() } }
    }

    /// Sends an entry that begins another life of the log: all replicas go on after a revision that
    /// no former life has used.
    ///
    /// - Parameters:
    ///   - revision: The one after which they go on, if it is above theirs.
    ///   - completion: Told whether the entry was executed; false if that is not known.
    package func beginLife(
        behind revision: Revision,
        completion: @escaping @Sendable (Bool) -> Void
    ) {
        let life = Life(revision: revision, since: clocks.nanoseconds(), completion: completion)
        let (isTaken, sends) = state.write { state -> (Bool, Bool) in
            // Replicas of the first rules would ignore it.
            guard state.position.rules > .first, state.life == nil, !state.phase.isFinal
            else { return (false, false) }
            state.life = life
            return (true, state.beginsSending(at: life.since))
        }
        guard isTaken else { return completion(false) }
        if sends { queue.async { [self] in send() } }
    }

    /// The limits of the log.
    package var bounds: LogBounds { settings.bounds }

    /// Takes no more changes; those that were sent get their answers.
    ///
    /// A stopped replica stays stopped: it must not execute entries after one that it has not
    /// executed.
    package func drain() {
        let waiting = state.write { state in
            if !state.phase.isFinal { state.phase = .draining }
            state.waitingByteCount = 0
            defer { state.waiting = [] }
            return state.waiting
        }
        refuse(waiting)
    }

    // MARK: Proposing

    /// The reason for the refusal of a change that was not sent.
    var refusal: Unavailability { phase.isFinal ? .stopped : .failing }

    /// Has a change decided and made at all replicas.
    ///
    /// - Parameters:
    ///   - change: It is copied before the call returns.
    ///   - author: The author; empty if that is not known.
    ///   - identity: The identity by which the request is known when it is sent again; nil for
    ///     none.
    ///   - completion: Given the decision, once; ``Refusal/unavailable(_:)`` if it was not ordered,
    ///     or that is not known.
    /// - Throws: ``BacklogFull`` if too many wait.
    package func propose(
        _ change: Change,
        author: [UInt8],
        identity: RequestIdentity? = nil,
        completion: @escaping Completion
    ) throws(BacklogFull) {
        let encoded = LogEntryWriter.encoded(change, author: author, identity: identity)
        guard encoded.count + LogEntryWriter.headByteCountMax <= bounds.changeByteCountMax
        else { return completion(.failure(.changeTooLong)) }
        let now = clocks.nanoseconds()
        let (isAccepted, isFull, sends) = state.write { state -> (Bool, Bool, Bool) in
            guard state.phase == .serving else { return (false, false, false) }
            guard state.waiting.count < settings.waitingCountMax,
                state.waitingByteCount + encoded.count <= settings.waitingByteCountMax
            else { return (false, true, false) }
            state.waiting.append(Waiting(encoded: encoded, since: now, completion: completion))
            state.waitingByteCount += encoded.count
            // The time is read here: an earlier one could miss the end of a pause whose check is
            // over.
            return (true, false, state.beginsSending(at: clocks.nanoseconds()))
        }
        if isFull { throw BacklogFull() }
        guard isAccepted else { return completion(.failure(.unavailable(refusal))) }
        if sends { queue.async { [self] in send() } }
    }
}
