internal import Dispatch
internal import LatchkeyFrame
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyReplication
internal import LatchkeyStore
internal import LatchkeyStrategies

/// The data of a service with `--data`, beside its store: the files, and the hook that withholds
/// unwritten commits.
///
/// **Design.** A commit is given to the hook by the thread that made it, and by the hook to the
/// files, whose writer releases it.
///
/// The store is made before it has its state, by ``recover(_:journal:readiness:)``, which blocks
/// while the files are read. Afterwards ``start(_:journal:keysLiveFor:)`` begins to write.
struct DurableData: Sendable {
    /// Data whose last change is further ahead of the clock were made when it was wrong.
    private static let aheadMillisecondsMax: Int64 = 60_000

    let persistence: Persistence
    let hook: CommitHook
    private let log: Log

    /// Opens the files, or makes them.
    init(
        _ settings: PersistenceSettings,
        startingAt revision: Revision,
        log: Log
    ) throws(PersistenceFailure) {
        let persistence = try Persistence(
            opening: settings.path,
            settings,
            startRevision: revision,
            log: { isError, event, fields in
                log.write(isError ? .error : .info, event, fields)
            }
        )
        self.persistence = persistence
        self.log = log
        hook = CommitHook { commit, note in
            persistence.append(commit, note: note)
        }
    }

    /// Whether commits can be written.
    var check: Readiness.Check {
        switch persistence.health {
        // Reads go on, and deletions have to come in.
        case .healthy where persistence.unavailability == .low:
            Readiness.Check(
                name: "journal",
                isPassed: true,
                detail: "The disk has little room left. Only changes that remove are taken."
            )
        case .healthy: Readiness.Check(name: "journal", isPassed: true)
        case .failed(let reason, _):
            Readiness.Check(name: "journal", isPassed: false, detail: reason)
        }
    }

    /// The reason why no change is accepted now: none can be written, or none ever will be.
    var refusal: @Sendable () -> Unavailability? {
        { [persistence] in persistence.unavailability }
    }

    /// Gives the store the state of the files, and the journal the history.
    ///
    /// - Throws: The fault of the files, or ``PersistenceFailure/Code/stopped`` once a signal has
    ///   come that ends the service: no thread waits for one yet.
    func recover(
        _ store: PropertyStore,
        journal: Journal,
        readiness: Readiness
    ) throws(PersistenceFailure) {
        let historyRevision = persistence.historyRevision
        let (storedCount, changeCount) = (persistence.storedCount, persistence.changeCount)
        readiness.begins(storedCount: storedCount, changeCount: changeCount)
        if storedCount > 0 || changeCount > 0 {
            log.write(
                .info,
                "reading data",
                ["properties": "\(storedCount)", "changes": "\(changeCount)"]
            )
        }
        try persistence.readStored { properties throws(PersistenceFailure) in
            try Self.endIfAsked()
            Self.wait { store.load(properties, completion: $0) }
            readiness.add(properties.count)
        }
        var last = persistence.storedTime.milliseconds
        var replayed = persistence.storedRevision
        try persistence.readChanges { commits throws(PersistenceFailure) in
            try Self.endIfAsked()
            last = commits.reduce(last) { max($0, $1.time.milliseconds) }
            replayed = commits.last?.revision ?? replayed
            Self.wait { done in
                store.replay(commits) { made in
                    for commit in made where commit.revision > historyRevision {
                        journal.append(commit)
                    }
                    done()
                }
            }
            readiness.add(commits.reduce(0) { $0 + $1.effects.count })
        }
        let (time, now) = (Timestamp(milliseconds: last), StoreClock.system.now())
        // Revisions after the last commit can have been skipped.
        let end = StoredCommit(revision: persistence.lastRevision, time: time, effects: [])
        if end.revision > replayed {
            Self.wait { done in store.replay([end]) { _ in done() } }
        }
        StoreClock.advance(to: time)
        if last - now.milliseconds > Self.aheadMillisecondsMax {
            log.write(
                .warning,
                "the clock is behind the last change of the data",
                [
                    "clock": now.calendarText, "lastChange": time.calendarText,
                    "consequence": "the service's time goes on from the last change",
                    "advice": "set the clock: until then, times to live end late",
                ]
            )
        }
    }

    /// Restores the decisions on requests with a key, for repeats of these requests.
    func restore(_ repetition: Repetition?) throws(PersistenceFailure) {
        guard let repetition else {
            return
        }
        try persistence.readNotes { _, time, bytes in repetition.restore(bytes, at: time) }
    }

    /// Restores the table of a cluster from the notes of commits.
    func restore(_ keys: inout IdentityTable?) throws(PersistenceFailure) {
        guard keys != nil else { return }
        try persistence.readNotes { (revision, _, bytes) throws(PersistenceFailure) in
            // Without the note, this replica could make a change that the others do not make.
            guard keys?.restore(bytes) == true else {
                throw PersistenceFailure(
                    .damaged,
                    "The note of revision \(revision) is damaged or of a later version."
                )
            }
        }
    }

    /// Begins to write the commits from now on.
    ///
    /// `failed` is called when the process has to end, because the disk is unreliable.
    func start(
        journal: Journal,
        keysLiveFor lifetime: Duration,
        isGrouped: Bool = false,
        failed: @escaping @Sendable () -> Void
    ) throws(PersistenceFailure) {
        try persistence.start(
            historyOldest: { journal.oldestStored },
            noteLifetime: lifetime,
            isGrouped: isGrouped,
            released: { hook.release(through: $0, isWritten: $1) },
            failed: failed
        )
    }

    /// Registers the metrics of the files, and writes all commits when the service ends.
    func register(in frame: ServiceFrame, logByteCountMax: Int) {
        DataMetrics.register(persistence, in: frame.registry)
        frame.bounds.add("max-wal-bytes", logByteCountMax) { [persistence] in
            persistence.status.logByteCount
        }
        frame.closing.at(.data) { [persistence] _, drained in
            let end = persistence.finish()
            drained.isWritten = end == .written
            drained.isDiskFull = end == .full
        }
    }

    private static func endIfAsked() throws(PersistenceFailure) {
        guard !EndingSignals.isPending else {
            throw PersistenceFailure(.stopped, "A signal ended the service while it read its data.")
        }
    }

    private static func wait(_ begin: (@escaping @Sendable () -> Void) -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        begin { isDone.signal() }
        isDone.wait()
    }
}
