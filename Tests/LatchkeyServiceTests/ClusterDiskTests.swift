import Foundation
import LatchkeyGuards
import LatchkeyReplication
import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas

private typealias Record = ClusterDirectory.Record

/// The record of a replica, with a time of its clock.
private func record(_ time: Int64, isFull: Bool? = nil, needsLog: Bool? = nil) -> Record {
    var record = Record(url: "", place: 9, revision: 7, state: "serving", time: time)
    (record.isFull, record.needsLog) = (isFull, needsLog)
    return record
}

/// Which of the other replicas have full disks.
@Suite struct FullDiskWatchTests {
    private static let silence = FullDiskWatch.silenceNanoseconds

    @Test func `more than half of all replicas make a majority`() {
        for count in [1, 2, 3, 5] {
            for full in 0...count {
                // One of them is this replica, once with a full disk and once without.
                for own in [0, 1] where full - own >= 0 && full - own < count {
                    let disks = FullDisks(count: count - 1, fullCount: full - own)
                    let isMajority = disks.isMajority(isOwnFull: own == 1)
                    #expect(isMajority == (full >= count / 2 + 1), "\(full) of \(count)")
                }
            }
        }
    }

    /// The result after the directory has had these records, a nanosecond after each other.
    private func known(_ said: [[String: Record]]) -> FullDisks? {
        var watch = FullDiskWatch()
        return said.indices.map { watch.hears(said[$0], of: "1", at: UInt64($0)) }.last
    }

    @Test func `a full disk is believed once its replica has said something more`() {
        let full = record(5, isFull: true)
        #expect(known([["2": full]]) == FullDisks(count: 1))
        #expect(known([["2": full], ["2": full]]) == FullDisks(count: 1))
        let again = record(6, isFull: true)
        #expect(known([["2": full], ["2": again]]) == FullDisks(count: 1, fullCount: 1))
        // Its clock was set back; there is room.
        #expect(known([["2": full], ["2": record(4)]]) == FullDisks(count: 1))
        #expect(known([["2": again], ["2": record(7, isFull: false)]]) == FullDisks(count: 1))
        // The own record does not count, even if another process writes it.
        #expect(known([["1": full], ["1": again]]) == FullDisks())
    }

    @Test func `a replica that is gone does not count, whatever it has said`() {
        var watch = FullDiskWatch()
        func hears(_ records: [String: Record], at now: UInt64) -> FullDisks {
            watch.hears(records, of: "1", at: now)
        }
        // The record of a life that has ended stays: its folder was emptied, and has another id.
        let ended = record(1, isFull: true)
        let first = ["ended": ended, "2": record(5), "3": record(5)]
        #expect(hears(first, at: 0) == FullDisks(count: 3))
        let both = ["ended": ended, "2": record(6, isFull: true), "3": record(6)]
        #expect(hears(both, at: 100) == FullDisks(count: 3, fullCount: 1))
        #expect(hears(both, at: Self.silence) == FullDisks(count: 3, fullCount: 1))
        #expect(hears(both, at: 1 + Self.silence) == FullDisks(count: 2, fullCount: 1))
        #expect(hears(both, at: 100 + Self.silence) == FullDisks(count: 2, fullCount: 1))
        #expect(hears(both, at: 101 + Self.silence) == FullDisks())
        // One replica comes back; the record of the other one is removed, and made again.
        let back = ["ended": ended, "2": record(9, isFull: true)]
        #expect(hears(back, at: 200 + Self.silence) == FullDisks(count: 1, fullCount: 1))
        let made = ["2": record(9, isFull: true), "3": record(9, isFull: true)]
        #expect(hears(made, at: 201 + Self.silence) == FullDisks(count: 2, fullCount: 1))
    }

    @Test func `a replica that cannot use the log any more does not count`() {
        let late = [record(5, isFull: true), record(6, isFull: true, needsLog: false)]
        #expect(known(late.map { ["2": $0] }) == FullDisks())
    }
}

/// The changes that a replica takes by the room on all disks.
@Suite struct ClusterDisksTests {
    private static let adding: [Change] = unsafe [
        .put(.named("a"), value: UnsafeRawBufferPointer(start: nil, count: 0)),
        .increment(.named("a"), by: 1), .touch(.named("a"), ttl: 1),
        .transaction(Transaction([Change.Step(.named("a"), .delete), claiming])),
    ]
    private static let claiming = unsafe Change.Step(
        .named("a"),
        .pop(Change.Claim(.named("b"), value: UnsafeRawBufferPointer(start: nil, count: 0)))
    )
    private static let removing: [Change] = [
        .delete(.named("a")),
        .transaction(
            Transaction(
                [Change.Step(.named("a"), .delete), Change.Step(.named("b"), .pop(nil))],
                else: [Change.Step(.named("c"), .deletePrefix(countMax: 9, isWhole: false))]
            )
        ),
    ]

    /// The disks of three replicas, where others say that theirs are full.
    private func disks(full: Int, own: Unavailability? = nil) -> ClusterDisks {
        let disks = ClusterDisks()
        for time in Int64(1)...2 {
            let others = ["2": full > 0, "3": full > 1].mapValues { record(time, isFull: $0) }
            disks.hears(others, of: "1", at: 0)
        }
        disks.sees(own, isStale: false)
        return disks
    }

    private func taken(_ disks: ClusterDisks) -> (adding: Set<Bool>, removing: Set<Bool>) {
        func taken(_ changes: [Change]) -> Set<Bool> { Set(changes.map { !disks.refuses($0) }) }
        return (taken(Self.adding), taken(Self.removing))
    }

    @Test func `while most disks are full, only changes that remove are taken`() {
        for (full, own, isFull) in [
            (0, nil, false), (1, nil, false), (2, nil, true), (0, .full, false), (1, .full, true),
            (2, .full, true),
            // Another reason is not a lack of room.
            (1, .failing, false), (1, .stopped, false),
        ] as [(Int, Unavailability?, Bool)] {
            let disks = disks(full: full, own: own)
            #expect(disks.isMostFull == isFull && disks.isOwnFull == (own == .full))
            #expect(disks.isAnyFull == (full > 0 || own == .full))
            #expect(taken(disks) == ([!isFull], [true]), "\(full), \(own.debugDescription)")
            // There is room again.
            disks.sees(nil, isStale: false)
            disks.hears(["2": record(3), "3": record(3)], of: "1", at: 0)
            #expect(!disks.isMostFull && !disks.isAnyFull)
            #expect(taken(disks) == ([true], [true]))
        }
    }

    @Test func `a replica that waits for its full disk takes nothing, and shows nothing old`() {
        let disks = disks(full: 0, own: .full)
        #expect(taken(disks) == ([true], [true]))
        disks.waiting {
            #expect(taken(disks) == ([false], [false]))
            #expect(!disks.isStateOld)
            disks.sees(.full, isStale: true)
            #expect(disks.isStateOld)
            // It waits for a disk that is slow: that passes by itself.
            disks.sees(nil, isStale: false)
            disks.sees(nil, isStale: true)
            #expect(taken(disks) == ([true], [true]) && !disks.isStateOld)
            disks.sees(.full, isStale: true)
        }
        // There is room: it takes changes, and shows nothing before it has caught up.
        disks.sees(nil, isStale: true)
        #expect(taken(disks) == ([true], [true]) && disks.isStateOld)
        disks.sees(nil, isStale: false)
        #expect(!disks.isStateOld)
        // If etcd does not answer, the replica is stale, but its disk has room.
        disks.sees(nil, isStale: true)
        #expect(!disks.isStateOld)
    }

    @Test func `reads of a state that stays old are refused, and the probe says what is full`() {
        let state = ClusterState(name: "test", etcd: { EtcdReport() })
        state.enters(.serving)
        state.age.endsFollowing()
        #expect(state.readRefusal == nil && state.check.isPassed)
        for time in Int64(1)...2 {
            state.disks.hears(["2": record(time, isFull: true)], of: "1", at: 0)
        }
        state.disks.sees(.full, isStale: true)
        let detail = state.check.detail ?? ""
        #expect(
            detail.hasSuffix(
                "The disks of most replicas are full: only changes that remove "
                    + "are taken."
            )
        )
        #expect(state.readRefusal == nil)
        state.disks.waiting {
            state.disks.sees(.full, isStale: true)
            #expect(state.readRefusal?.problem == .notLevel)
            #expect(state.readRefusal?.isForOther == true)
        }
    }

    @Test func `a refused change does not come to the log`() throws {
        let replica = Replica(
            Replica.Settings(incarnation: 1),
            log: NoLog(),
            store: NoState(),
            at: LogPosition(place: .start, revision: 0),
            Replica.Clocks(nanoseconds: { 0 }, calendar: { Timestamp(milliseconds: 1) }),
            Replica.Callbacks(isLevel: { _ in }, changed: { _ in }, advanced: { _ in })
        )
        let isLost = Guarded(false)
        let store = ReplicatedStore(
            PropertyStore(
                limits: StoreLimits(),
                stripeCount: 1,
                guards: GuardSettings(.lock, backlogMax: 1),
                after: 0,
                parts: StoreParts()
            ),
            replica,
            disks(full: 2),
            nil
        ) { isLost.read { $0 } }
        func refusal(_ change: Change) throws -> Refusal? {
            let refusal = Guarded<Refusal?>(nil)
            try store.commit(change, .here()) { decision in
                if case .failure(let found) = decision { refusal.write { $0 = found } }
            }
            return refusal.read { $0 }
        }
        for change in Self.adding { #expect(try refusal(change) == .unavailable(.full)) }
        // The replica has it, which is not connected.
        for change in Self.removing { #expect(try refusal(change) == .unavailable(.failing)) }
        isLost.write { $0 = true }
        #expect(try refusal(Self.removing[0]) == .unavailable(.gone))
    }
}

/// A log that nothing comes to.
private struct NoLog: ReplicatedLog {
    func append(_ entry: [UInt8], completion: @escaping @Sendable (LogAppend) -> Void) {
        Issue.record("An entry comes to the log.")
    }

    func follow(after place: LogPlace, receive: @escaping @Sendable (LogEvent) -> Void) {}
    func end(completion: @escaping @Sendable (LogPlace?) -> Void) {}
    func moveOn() {}
}

/// A state that nothing is executed on.
private struct NoState: ReplicatedState {
    var revision: Revision { 0 }

    func decide(by rules: RuleLevel) {}
    func execute(_ proposal: LogEntry.Proposal, at time: Timestamp) -> Decision {
        .failure(.missing)
    }
    func jump(to revision: Revision) {}
    func reaches(_ position: LogPosition) {}
    func hash(completion: @escaping @Sendable (UInt64) -> Void) {}
}
