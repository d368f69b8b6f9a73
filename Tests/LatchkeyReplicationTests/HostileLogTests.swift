import LatchkeyGuards
import LatchkeyJSON
import LatchkeyProtobuf
import LatchkeyStrategies
import LatchkeySync
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication
@testable import LatchkeyStore

/// Entries and answers with seeded changes: they are read as valid ones, or refused, and never end
/// the process.
@Suite(.timeLimit(.minutes(15)))
struct HostileLogTests {
    private static let count = Depth.count(3000, deep: 100_000)

    /// Changes of each kind, which own their memory.
    private static let changes: [Change] = {
        let texts = [
            #"{"then":[{"put":"a","value":{"n":[1]}},{"merge":"a","patch":{"n":null,"m":{}}}]}"#,
            #"{"if":[{"name":"a","exists":true},{"name":"c","<":9}],"then":[{"increment":"c"}]}"#,
            #"{"if":[{"name":"a","equals":[1]}],"then":[],"else":[{"pop":"q/"},{"count":"q/"}]}"#,
            #"{"then":[{"pop":"q/","claim":"r/","ttl":5},{"delete-prefix":"s/"},{"get":"a"}]}"#,
            #"{"then":[{"put":"q/1","value":1,"ttl":9},{"touch":"q/1","ttl":8},{"delete":"b"}]}"#,
        ]
        let transactions = texts.compactMap { text -> Change? in
            unsafe Array(text.utf8).withUnsafeBytes { bytes in
                try? unsafe Change.transaction(Transaction(JSONView(bytes)))
            }.map { Change.owned($0) }
        }
        let conditions = Conditions(ifMatch: .oneOf([1, 300]), ifNoneMatch: .any)
        return transactions + [
            ReplicaTests.put("1"), .increment(ReplicaTests.name("c"), by: -3, ttl: 60),
            .delete(ReplicaTests.name("b"), conditions: conditions),
        ]
    }()

    private static let identity = RequestIdentity(key: [3, 4], fingerprint: [5, 6, 7])

    /// An entry with some of the changes.
    private static func entry(_ random: inout SeededGenerator) -> [UInt8] {
        var writer = LogEntryWriter()
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let change = changes.randomElement(using: &random) else { continue }
            let isKnown = Bool.random(using: &random)
            writer.add(
                LogEntryWriter.encoded(
                    change,
                    author: Array("me".utf8),
                    identity: isKnown ? identity : nil
                )
            )
        }
        return writer.bytes(
            LogEntry.Head(
                writer: 7,
                sequence: 300,
                time: Timestamp(milliseconds: 1_700_000_000_000),
                asksForMark: true,
                earlier: LogEntry.Mark(place: LogPlace(9), revision: 8, hash: 7)
            )
        )
    }

    /// Makes an answer of a decision, as a service does; it must be JSON.
    private static func answer(_ decision: Decision, to change: Change) throws {
        guard case .success(let commit) = decision, case .transaction(let transaction) = change
        else { return }
        var json = JSONWriter()
        json.transaction(transaction, commit)
        try unsafe json.bytes.withUnsafeBytes { try unsafe JSONText.check($0, depthMax: 100) }
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `an entry that was changed is refused, or is executed as any other`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        let state = StoreState(stripeCount: 4)
        var executedCount = 0
        for _ in 0..<Self.count {
            let right = Self.entry(&random)
            let bytes = random.mutated(right, SeededGenerator.numbers + SeededGenerator.texts)
            guard let entry = try? LogEntry(decoding: bytes) else { continue }
            for proposal in entry.proposals {
                executedCount += 1
                let decision = state.execute(proposal, at: entry.head.time)
                try Self.answer(decision, to: proposal.change)
            }
        }
        #expect(executedCount > Self.count / 100)
        let snapshot = try #require(awaited { state.store.snapshot(.here(), completion: $0) })
        snapshot.visit { property in
            #expect(unsafe InputCheck.isValue(property.valueBytes))
        }
    }

    @Test func `a changed position is invalid, or a replica can go on from it`() {
        var random = SeededGenerator(3)
        var position = LogPosition(
            place: LogPlace(7000),
            revision: 1 << 50,
            time: Timestamp(milliseconds: 1_700_000_000_000)
        )
        for writer in 1..<4 as Range<UInt64> { _ = position.enters(writer: writer, sequence: 300) }
        position.unstoredKeys = [1, 2]
        for _ in 0..<Self.count {
            let bytes = random.mutated(position.encoded, SeededGenerator.numbers)
            guard let read = LogPosition(decoding: bytes) else { continue }
            #expect(read.place.number < Int64.max)
            #expect(InputCheck.time(read.time.milliseconds) != nil)
            #expect(InputCheck.revision(read.revision) != nil)
        }
        for wrong in [UInt64(Int64.max), .max] {
            let far = LogPosition(place: LogPlace(wrong))
            #expect(LogPosition(decoding: far.encoded) == nil)
            let late = LogPosition(revision: wrong)
            #expect(LogPosition(decoding: late.encoded) == nil)
        }
    }

    @Test(arguments: [4, 5] as [UInt64])
    func `kept answers that were changed are refused, or are answers to the change`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        let bench = IdentityTableTests.Bench()
        for change in Self.changes + Self.changes {
            _ = bench.execute(change, "k\(Int.random(in: 0..<100, using: &random))")
        }
        let notes = bench.notes.map(\.bytes) + [bench.table.unstored].filter { !$0.isEmpty }
        for _ in 0..<Self.count {
            guard let note = notes.randomElement(using: &random) else { continue }
            var table = IdentityTable(bench.limits)
            guard table.restore(random.mutated(note, SeededGenerator.numbers)) else { continue }
            for number in 0..<100 {
                let key = Array("k\(number)".utf8)
                let identity = RequestIdentity(key: key, fingerprint: [1])
                for change in Self.changes {
                    let time = Timestamp(milliseconds: 1001)
                    guard let decision = table.decision(of: identity, change, at: time)
                    else { break }
                    try Self.answer(decision, to: change)
                }
            }
        }
    }

    @Test func `answers of etcd that were changed are refused, or have places to ask for`() {
        func message(_ body: (inout ProtobufWriter) -> Void) -> [UInt8] {
            ProtobufWriter.message(body)
        }
        func value(_ message: inout ProtobufWriter) {
            message.add(1, Array("key".utf8))
            message.add(2, 5)
            message.add(3, 300)
            message.add(5, [1, 2, 3])
        }
        let range = message {
            $0.add(1, message: { $0.add(3, 300) })
            $0.add(2, message: value)
        }
        let transaction = message {
            $0.add(1, message: { $0.add(3, 300) })
            $0.add(2, 1)
            $0.add(3, message: { $0.add(1, message: { $0.add(2, message: value) }) })
        }
        let watch = message {
            $0.add(4, true)
            $0.add(5, 70)
            $0.add(11, message: { $0.add(2, message: value) })
        }
        var random = SeededGenerator(6)
        for _ in 0..<Self.count {
            for (bytes, kind) in [
                (range, EtcdAnswer.Kind.range), (transaction, .transaction), (range, .put),
            ] {
                let changed = random.mutated(bytes, SeededGenerator.numbers)
                guard let answer = try? EtcdAnswer(changed[...], kind) else { continue }
                #expect(answer.header.revision < Int64.max)
                #expect(answer.values.allSatisfy { max($0.created, $0.modified) < Int64.max })
            }
            let changed = random.mutated(watch, SeededGenerator.numbers)
            guard let answer = try? EtcdWatchAnswer(changed[...]) else { continue }
            #expect(answer.compacted < Int64.max)
            #expect(answer.events.allSatisfy { $0.value.modified < Int64.max })
        }
        let beyond = message { $0.add(1, message: { $0.add(3, UInt64.max) }) }
        #expect(throws: ProtobufReader.InvalidMessage()) { try EtcdAnswer(beyond[...], .put) }
    }
}
