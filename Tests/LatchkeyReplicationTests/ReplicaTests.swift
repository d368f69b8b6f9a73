import Dispatch
import LatchkeyGuards
import LatchkeyStore
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication

/// Replicas over a log in memory: what all of them promise, with faults at each append.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct ReplicaTests {
    static func states() -> [any ReplicatedState] {
        [
            StoreState(),
            StoreState(.snapshot, stripeCount: 8),
            StoreState(.serialQueueAsync, stripeCount: 4),
        ]
    }

    static func name(_ text: String) -> PropertyName {
        let owner = OwnedBytes(Array(text.utf8))
        guard let name = try? unsafe PropertyName(borrowing: owner.bytes, owner: owner) else {
            preconditionFailure(text)
        }
        return name
    }

    /// Puts a number, or another text as a string.
    static func put(_ text: String) -> Change {
        let value = Array((Int(text) == nil ? "\"\(text)\"" : text).utf8)
        return unsafe value.withUnsafeBytes { bytes in
            let change = unsafe Change.put(name(text), value: bytes)
            return Change.owned(change)
        }
    }

    static func digests(_ states: [any ReplicatedState]) throws -> [UInt64] {
        try states.map { state in try #require(awaited { state.hash(completion: $0) }) }
    }

    @Test(arguments: [0, 30])
    func `all replicas have the same state, and each change is made once or not at all`(
        faultPercent: Int
    ) throws {
        let states = Self.states()
        let log = MemoryLog(seed: 23, faultPercent: faultPercent)
        let cluster = ReplicaCluster(log, states, offsets: [0, 30_000, -30_000])
        cluster.settle()
        let made = Guarded<[String: Bool]>([:])
        let sum = Guarded(0)
        let threads = (0..<6).map { client in
            TestThread {
                for number in 0..<100 {
                    let text = "\(client * 1000 + number)"
                    let decision = cluster.change(client % 3, Self.put(text))
                    if case .success = decision {
                        made.write { $0[text] = true }
                    } else if case .failure(.unavailable(.failing)) = decision {
                        made.write { $0[text] = false }
                    }
                    let sumChange = Change.owned(.increment(Self.name("sum"), by: 1))
                    if case .success = cluster.change(client % 3, sumChange) {
                        sum.write { $0 += 1 }
                    }
                }
            }
        }
        for thread in threads { #expect(thread.join()) }
        cluster.settle()
        let digests = try Self.digests(states)
        #expect(Set(digests).count == 1, "\(digests)")
        #expect(cluster.replicas.allSatisfy { $0.phase == .serving })
        let first = try #require(states[0] as? StoreState)
        func value(_ text: String) throws -> String? {
            let property = try awaited {
                try first.store.look(Self.name(text), in: .live, .here(), completion: $0)
            }
            return try #require(property, "it is looked up").map {
                unsafe String(decoding: $0.valueBytes, as: UTF8.self)
            }
        }
        for (text, isMade) in made.read({ $0 }) {
            #expect(try value(text) == (isMade ? text : nil))
        }
        #expect(try value("sum") == "\(sum.read { $0 })")
        #expect(made.read { $0.count } == 600)
    }

    @Test(arguments: [0, 30])
    func `a change that is sent again with its key, to any replica, is made once`(
        faultPercent: Int
    ) throws {
        let states = Self.states()
        let cluster = ReplicaCluster(
            MemoryLog(seed: 29, faultPercent: faultPercent),
            states,
            offsets: [0, 3_000, -3_000]
        )
        let sums = Guarded<[Int: Set<String>]>([:])
        let repeatCount = Guarded(0)
        cluster.settle()
        let threads = (0..<3).map { replica in
            TestThread {
                for number in 0..<100 {
                    let change = Change.owned(.increment(Self.name("sum"), by: 1))
                    let decision = cluster.change(replica, change, key: "k\(number)")
                    guard case .success(let commit) = decision else {
                        Issue.record("\(decision)")
                        continue
                    }
                    if commit.isRepeat { repeatCount.write { $0 += 1 } }
                    let value = commit.first?.property.map {
                        unsafe String(decoding: $0.valueBytes, as: UTF8.self)
                    }
                    let answer = "\(value ?? "") \(commit.revision)"
                    sums.write { _ = $0[number, default: []].insert(answer) }
                }
            }
        }
        for thread in threads { #expect(thread.join()) }
        cluster.settle()
        #expect(try Set(Self.digests(states)).count == 1)
        // All three got the first answer, and no two keys the same one.
        let answers = sums.read { $0 }
        #expect(answers.count == 100 && answers.values.allSatisfy { $0.count == 1 })
        #expect(Set(answers.values.joined()).count == 100)
        #expect(repeatCount.read { $0 } == 200)
        #expect(states.allSatisfy { $0.revision == 100 })
    }

    @Test func `an entry that makes the log full is not refused`() throws {
        let log = MemoryLog(seed: 1)
        let states: [any ReplicatedState] = [StoreState()]
        let cluster = ReplicaCluster(log, states) {
            $0.repetitionNanoseconds = 60_000_000_000
        }
        cluster.settle()
        log.setFilling()
        log.hold(true)
        let appends = log.appends.value
        let decision = Guarded<Decision?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        let writer = TestThread {
            let made = cluster.change(0, Self.put("1"))
            decision.write { $0 = made }
            isDone.signal()
        }
        // in the log, answered as refused   delivered
        #expect(log.appends.wait(for: appends + 1))
        cluster.replicas[0].queue.sync {}
        let ends = log.ends[0].value
        #expect(log.ends[0].wait(for: ends + 2))
        #expect(isDone.wait(timeout: .now()) == .timedOut)
        log.hold(false)
        #expect(writer.join())
        _ = try #require(decision.read { $0 }, "it is in the log").get()
        log.setFull(true)
        let refused = cluster.change(0, Self.put("2"))
        #expect(throws: Refusal.unavailable(.full)) { try refused.get() }
        #expect(states[0].revision == 1)
    }
}
