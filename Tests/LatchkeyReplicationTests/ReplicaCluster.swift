import Dispatch
import LatchkeyGuards
import LatchkeyReplication
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport

/// A store that a replica executes on.
struct StoreState: ReplicatedState {
    let store: PropertyStore
    let positions = Guarded<[LogPosition]>([])
    let keys = Guarded(
        IdentityTable(
            IdentityTable.Limits(
                lifetimeMilliseconds: 600_000,
                keyCountMax: 100_000,
                byteCountMax: 64 << 20
            )
        )
    )

    init(
        _ kind: StrategyKind = .lock,
        stripeCount: Int = 1,
        _ limits: StoreLimits = StoreLimits()
    ) {
        store = PropertyStore(
            limits: limits,
            stripeCount: stripeCount,
            guards: GuardSettings(kind, backlogMax: 1000)
        )
    }

    func decide(by rules: RuleLevel) { store.rules = rules }

    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        if let identity = proposal.identity,
            let decision = keys.write({ $0.decision(of: identity, proposal.change, at: time) })
        {
            return decision
        }
        let decision = run(proposal, at: time)
        keys.write { $0.keep(decision, of: proposal.identity, proposal.change, at: time) }
        return decision
    }

    private func run(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        let decision = try? awaited { completion in
            try store.execute(
                proposal.change,
                at: time,
                .here(),
                receiver: DecisionClosure(completion)
            )
        }
        guard let decision else { preconditionFailure("One change waits at a time.") }
        return decision
    }

    func reaches(_ position: LogPosition) {
        positions.write { $0.append(position) }
    }

    func jump(to revision: Revision) {
        _ = awaited { completion in store.jump(to: revision) { completion(()) } }
    }

    var revision: Revision { store.usage.revision }

    func hash(completion: @escaping @Sendable (UInt64) -> Void) {
        store.snapshot(.here()) { completion($0.digest) }
    }
}

/// Replicas of one log, whose timers a thread drives.
final class ReplicaCluster: Sendable {
    let log: MemoryLog
    let replicas: [Replica]
    let states: [any ReplicatedState]
    // SAFETY: it is not changed after `init`.
    nonisolated(unsafe) private let ticker: any DispatchSourceTimer

    /// - Parameters:
    ///   - log: The log.
    ///   - states: The state of each replica.
    ///   - offsets: How far the clock of each replica is ahead.
    ///   - position: Where all begin.
    ///   - clock: The clock of each replica, before its offset.
    ///   - change: Changes the settings of each replica.
    init(
        _ log: MemoryLog,
        _ states: [any ReplicatedState],
        offsets: [Int64] = [0, 0, 0],
        at position: LogPosition = LogPosition(),
        clock: StoreClock = .system,
        _ change: (inout Replica.Settings) -> Void = { _ in }
    ) {
        self.log = log
        self.states = states
        replicas = states.enumerated().map { index, state in
            var settings = Replica.Settings(incarnation: UInt64(index + 1))
            settings.repetitionNanoseconds = 20_000_000
            // No change is given up because the machine is busy.
            settings.refusalNanoseconds = .max / 4
            settings.unknownNanoseconds = .max / 2
            settings.questionNanoseconds = 20_000_000
            settings.markNanoseconds = 10_000_000
            change(&settings)
            return Replica(
                settings,
                log: log.member(index),
                store: state,
                at: position,
                Replica.Clocks(
                    // A thread can ask the clock before another one, and use it after that one.
                    nanoseconds: {
                        DispatchTime.now().uptimeNanoseconds - UInt64.random(in: 0..<2_000_000)
                    },
                    calendar: {
                        let now = clock.now().milliseconds
                        return Timestamp(milliseconds: now + offsets[index % offsets.count])
                    }
                ),
                Replica.Callbacks(isLevel: { _ in }, changed: { _ in }, advanced: { _ in })
            )
        }
        unsafe ticker = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "ticker"))
        let replicas = replicas
        unsafe ticker.schedule(deadline: .now(), repeating: .milliseconds(5))
        unsafe ticker.setEventHandler { for replica in replicas { replica.tick() } }
        unsafe ticker.activate()
        for replica in replicas { replica.start() }
    }

    deinit { unsafe ticker.cancel() }

    /// Makes a change at a replica, and waits for its decision.
    func change(_ replica: Int, _ change: Change, key: String? = nil) -> Decision {
        let identity = key.map { RequestIdentity(key: Array($0.utf8), fingerprint: [1]) }
        do {
            return try awaited { completion in
                try replicas[replica].propose(
                    change,
                    author: [],
                    identity: identity,
                    completion: completion
                )
            } ?? .failure(.missing)
        } catch {
            return .failure(.backlogFull)
        }
    }

    /// Waits until all replicas have the whole log, or all but those that have stopped.
    func settle(but stopped: Set<Int> = []) {
        let replicas = self.replicas.enumerated().filter { !stopped.contains($0.offset) }
            .map(\.element)
        for replica in replicas { wait { replica.phase == .serving } }
        log.settle()
        for replica in replicas {
            wait { awaited { replica.whenLevel($0) } == true }
        }
    }

    private func wait(_ isTrue: () -> Bool) {
        _ = eventually(isTrue)
    }
}

extension Change {
    /// A change whose memory stays, for a test.
    static func owned(_ change: Change) -> Change {
        (try? Change(decoding: change.encoded())) ?? change
    }
}
