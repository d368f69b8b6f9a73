import LatchkeyReplication
import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyReplicas

/// The messages of a replica about itself and etcd.
@Suite struct ClusterStateTests {
    private let report = Guarded(EtcdReport())

    private func state(_ phase: Replica.Phase, isStale: Bool = false) -> ClusterState {
        let state = ClusterState(name: "test", etcd: { [report] in report.read { $0 } })
        state.enters(phase)
        // Otherwise it was never up to date. So no test depends on how long it takes.
        if !isStale { state.age.endsFollowing() }
        return state
    }

    /// Whether a replica in this phase is ready, and what it says.
    private func check(
        _ phase: Replica.Phase,
        isStale: Bool = false
    ) -> (isPassed: Bool, detail: String) {
        let check = state(phase, isStale: isStale).check
        return (check.isPassed, check.detail ?? "")
    }

    @Test func `a replica that serves says what etcd refuses, each reason once`() {
        report.write {
            $0.troubles = [
                .log: "etcdserver: permission denied",
                .record: "etcdserver: permission denied",
                .compaction: "too many requests.",
            ]
        }
        let check = check(.serving)
        #expect(check.isPassed && check.detail.hasPrefix("test: serving. It was level"))
        #expect(
            check.detail.hasSuffix(
                " s ago. etcd has failed for the log, the record of this replica: etcdserver: "
                    + "permission denied. etcd has failed for the compaction: too many requests."
            )
        )
    }

    @Test func `a replica that is not up to date says why, and is ready`() {
        report.write {
            $0.trouble = "http://a:2379: connection refused"
            $0.troubles = [.log: "etcdserver: mvcc: database space exceeded"]
        }
        let check = check(.serving, isStale: true)
        #expect(check.isPassed && check.detail.hasPrefix("test: stale. "))
        #expect(check.detail.contains("etcd does not answer: http://a:2379: connection refused."))
        #expect(check.detail.contains("etcd has failed for the log: etcdserver: mvcc: database"))
    }

    @Test func `a replica that reaches another etcd only is not ready`() {
        let sentence = "http://a:2379 is of the etcd cluster 7, and the log is in 8."
        report.write { $0.membership = .strangers(sentence) }
        let stale = check(.serving, isStale: true)
        #expect(!stale.isPassed && stale.detail.hasPrefix("test: connecting. \(sentence)"))
        // A member of the known cluster has answered a moment ago.
        #expect(check(.serving).isPassed)
        let starting = check(.connecting("no connection"))
        #expect(starting.detail == "test: connecting. \(sentence) no connection")
        #expect(check(.connecting(sentence)).detail == "test: connecting. \(sentence)")
    }

    @Test func `a replica that is too late names a copy before anything is removed`() {
        let late = state(.tooLate)
        #expect(!late.check.isPassed && late.word == "too-late")
        let reason = late.endReason ?? ""
        #expect(reason.contains("Move its data away: if etcd was restored from a backup"))
        #expect(!reason.contains("elete"))
    }

    @Test func `a replica that may have to begin a life does not say that it serves`() {
        let state = state(.serving)
        state.awaitsLife(true)
        #expect(state.word == "catching-up" && !state.check.isPassed)
        state.awaitsLife(false)
        #expect(state.word == "serving" && state.check.isPassed)
    }

    @Test func `a replica of another log is diverged`() {
        let other = state(.otherLog("It is another log."))
        #expect(other.word == "diverged" && other.endReason == "It is another log.")
        #expect(!other.isWrong)
    }
}

/// When the log says that etcd refuses something.
@Suite struct EtcdTroubleLogTests {
    private typealias Line = EtcdTroubleLog.Line

    @Test func `each reason is said once, and then that all is well again`() {
        var log = EtcdTroubleLog()
        #expect(log.lines([:]).isEmpty)
        #expect(log.lines([.log: "full"]) == [Line(use: .log, reason: "full")])
        #expect(log.lines([.log: "full"]).isEmpty)
        #expect(
            log.lines([.log: "denied", .record: "full"])
                == [Line(use: .log, reason: "denied"), Line(use: .record, reason: "full")]
        )
        // It comes again and again.
        for _ in 0..<10 {
            #expect(log.lines([.log: "full", .record: "full"]).isEmpty)
            #expect(log.lines([.log: "denied", .record: "full"]).isEmpty)
        }
        for _ in 1..<EtcdTroubleLog.calmLooks { #expect(log.lines([.record: "full"]).isEmpty) }
        #expect(log.lines([.record: "full"]) == [Line(use: .log, reason: nil)])
        #expect(log.lines([.record: "full"]).isEmpty)
        let again = log.lines([.log: "full", .record: "full"])
        #expect(again == [Line(use: .log, reason: "full")])
    }

    @Test func `calls that go well now and then do not count as well`() {
        var log = EtcdTroubleLog()
        #expect(log.lines([.log: "full"]).count == 1)
        for _ in 0..<3 {
            for _ in 1..<EtcdTroubleLog.calmLooks { #expect(log.lines([:]).isEmpty) }
            #expect(log.lines([.log: "full"]).isEmpty)
        }
    }

    @Test func `reasons without end are not all said`() {
        var log = EtcdTroubleLog()
        let count = (0..<1000).reduce(0) { $0 + log.lines([.log: "reason \($1)"]).count }
        #expect(count == 16)
    }
}

/// Which etcd an empty replica takes for that of its cluster.
@Suite struct EtcdMajorityTests {
    private static let refused = Result<UInt64, Unanswered>.failure(Unanswered("refused"))

    private func result(_ answers: Result<UInt64, Unanswered>...) -> Result<UInt64, Unanswered> {
        EtcdMajority(answers.indices.map { "http://\($0)" }, answers).result
    }

    @Test func `more than half of all addresses must be of one cluster`() {
        let (one, other, refused) = (
            Result<UInt64, Unanswered>.success(1), Result<UInt64, Unanswered>.success(2),
            Self.refused
        )
        #expect(result(one) == .success(1))
        #expect(result(one, one, refused) == .success(1))
        #expect(result(other, one, one) == .success(1))
        #expect(result(one, one, one, other, other) == .success(1))
        for answers in [[one, refused], [one, other]] {
            let result = EtcdMajority(["a", "b"], answers).result
            #expect(throws: Unanswered.self) { try result.get() }
        }
    }

    @Test func `a survey without a result says what each address has answered`() {
        #expect(
            result(.success(0xAB), Self.refused, Self.refused)
                == .failure(
                    Unanswered(
                        "Most addresses in --cluster must be of one cluster of etcd. http://0 is "
                            + "of the cluster ab. http://1: refused. http://2: refused."
                    )
                )
        )
        let none = result(Self.refused, .failure(Unanswered("TLS: no.")))
        #expect(none == .failure(Unanswered("http://0: refused. http://1: TLS: no.")))
    }
}

/// Two processes with one folder's id.
@Suite struct CopyWatchTests {
    private static func record(_ process: UInt64?, _ time: Int64) -> ClusterDirectory.Record {
        var record = ClusterDirectory.Record(
            url: "",
            place: 1,
            revision: 1,
            state: "serving",
            time: time
        )
        record.process = process
        return record
    }

    /// After which of these records a process is told to stop.
    private func stops(_ records: [ClusterDirectory.Record?], of own: UInt64 = 9) -> [Int] {
        var watch = CopyWatch()
        return records.indices.filter { watch.hears(records[$0], own, from: LogPlace(1)) }
    }

    @Test func `the later one stops when the other one goes on to say something`() {
        let said: [ClusterDirectory.Record?] = [
            nil, Self.record(5, 100), Self.record(9, 101),
            // The last record of a process that is gone can come late.
            Self.record(5, 105), Self.record(5, 105),
            Self.record(5, 110), Self.record(5, 115),
        ]
        // Once.
        #expect(stops(said) == [5])
    }

    @Test func `the one that began first goes on`() {
        #expect(stops((0..<9).map { Self.record(10, $0) }).isEmpty)
        // Of 0.1.
        #expect(stops((0..<9).map { Self.record(nil, $0) }).isEmpty)
    }

    @Test func `processes that each ended before the next one are no copies`() {
        #expect(stops((1..<9).map { Self.record(UInt64($0), $0) }).isEmpty)
    }

    @Test func `a record of the folder that a copy was made from is not that of the copy`() {
        func isOriginal(_ processes: UInt64..., from start: UInt64 = 1) -> Bool {
            var watch = CopyWatch()
            for (time, process) in processes.enumerated() {
                _ = watch.hears(Self.record(process, Int64(time)), 9, from: LogPlace(start))
            }
            return watch.isOriginal
        }
        // The records of a process that is gone, and of this one.
        #expect(isOriginal(5, 9) && isOriginal(9, from: 0))
        // The record of one that goes on, or was further than the copy, also once the copy has
        // written one.
        #expect(!isOriginal(5, 5, 5, 9) && !isOriginal(5, 9, from: 0))
    }

    @Test func `a process that begins later has a greater number`() {
        let numbers = [1, 2, 1_800_000_000_000].map {
            CopyWatch.number(at: Timestamp(milliseconds: $0))
        }
        #expect(numbers == numbers.sorted() && Set(numbers).count == 3)
    }
}
