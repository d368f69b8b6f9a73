import LatchkeyJSON
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyReplication
@testable import LatchkeyStore

/// The requests that all replicas know.
struct IdentityTableTests {
    /// A table, a store, and the notes that a replica stores.
    final class Bench {
        let limits: IdentityTable.Limits
        var table: IdentityTable
        let state = StoreState(stripeCount: 4)
        private(set) var notes: [(bytes: [UInt8], time: Int64)] = []
        private var lastCommit: Int64 = 0
        var time = Timestamp(milliseconds: 1000)

        init(_ change: (inout IdentityTable.Limits) -> Void = { _ in }) {
            var limits = IdentityTable.Limits(
                lifetimeMilliseconds: 100,
                keyCountMax: 1000,
                byteCountMax: 1 << 20
            )
            change(&limits)
            self.limits = limits
            table = IdentityTable(limits)
        }

        /// Executes a change as a replica does.
        func execute(_ change: Change, _ key: String?, body: UInt8 = 1) -> Decision {
            let identity = key.map { RequestIdentity(key: Array($0.utf8), fingerprint: [body]) }
            if let identity, let decision = table.decision(of: identity, change, at: time) {
                return decision
            }
            let proposal = LogEntry.Proposal(
                author: [],
                identity: identity,
                change: Change.owned(change)
            )
            let decision = state.execute(
                LogEntry.Proposal(author: [], identity: nil, change: proposal.change),
                at: time
            )
            if case .success(let commit) = decision, !commit.isEmpty {
                lastCommit = time.milliseconds
                if let note = table.note(
                    for: commit,
                    of: proposal.identity,
                    proposal.change,
                    at: time
                ) {
                    notes.append((note, lastCommit))
                }
            }
            table.keep(decision, of: proposal.identity, proposal.change, at: time)
            return decision
        }

        /// The table after a restart, where old notes were deleted.
        func restored() -> IdentityTable {
            let oldest = lastCommit - limits.lifetimeMilliseconds
            notes.removeAll { $0.time < oldest }
            var table = IdentityTable(limits)
            var isRead = true
            for note in notes { isRead = table.restore(note.bytes) && isRead }
            let unstored = self.table.unstored
            if !unstored.isEmpty {
                isRead = table.restore(unstored, isStored: false) && isRead
            }
            #expect(isRead)
            table.expire(at: time)
            return table
        }

        /// Whether a note can be read.
        func reads(_ note: some Sequence<UInt8>) -> Bool {
            var table = IdentityTable(limits)
            return table.restore(Array(note))
        }
    }

    private static let sum = ReplicaTests.name("sum")
    private static let missing = ReplicaTests.name("missing")

    private static func increment() -> Change { .increment(sum, by: 1) }

    @Test func `a key is for one request, and its first decision comes again`() throws {
        let bench = Bench()
        let first = try bench.execute(Self.increment(), "a").get()
        #expect(!first.isRepeat)
        let again = try bench.execute(Self.increment(), "a").get()
        #expect(again.isRepeat && again.revision == first.revision && again.time == first.time)
        let property = try #require(again.first?.property)
        #expect(unsafe Array(property.valueBytes) == Array("1".utf8))
        #expect(property.created == first.first?.property?.created)
        #expect(again.first?.isCreation == true)
        #expect(bench.execute(Self.increment(), "a", body: 2).refusal == .identityReused)
        #expect(try bench.execute(Self.increment(), "b").get().revision == first.revision + 1)
    }

    @Test func `refusals that follow from the properties are kept, and others are not`() throws {
        let bench = Bench()
        #expect(bench.execute(.delete(Self.missing), "a").refusal == .missing)
        _ = bench.execute(ReplicaTests.put("missing"), nil)
        #expect(bench.execute(.delete(Self.missing), "a").refusal == .repeated(.missing))
        _ = bench.execute(ReplicaTests.put("text"), nil)
        let text = ReplicaTests.name("text")
        let twoSteps = Change.transaction(
            Transaction([.init(text, .get), .init(text, .increment(by: 1))])
        )
        let refusal = Refusal.step(1, .then, .notAnInteger)
        #expect(bench.execute(twoSteps, "b").refusal == refusal)
        #expect(bench.execute(twoSteps, "b").refusal == .repeated(refusal))
        var waiting = Transaction(if: [.init(Self.sum, .exists(true))], [])
        waiting.waits = true
        #expect(bench.execute(.transaction(waiting), "c").refusal == .notYet)
        _ = bench.execute(Self.increment(), nil)
        #expect(try !bench.execute(.transaction(waiting), "c").get().isRepeat)
        for refusal: Refusal in [
            .notYet, .backlogFull, .full(.bytes(shortage: nil)), .unavailable(.unknown),
            .identityReused,
            .step(0, .then, .full(.properties(shortage: nil))), .tooManyIdentities,
        ] {
            #expect(KeptDecision(.failure(refusal), of: Self.increment()) == nil, "\(refusal)")
        }
    }

    @Test func `keys live as long as the time of the entries says`() throws {
        let bench = Bench()
        _ = bench.execute(Self.increment(), "a")
        bench.time = Timestamp(milliseconds: 1099)
        #expect(try bench.execute(Self.increment(), "a").get().isRepeat)
        _ = bench.execute(Self.increment(), "b")
        bench.time = Timestamp(milliseconds: 1100)
        #expect(try !bench.execute(Self.increment(), "a").get().isRepeat)
        #expect(bench.table.count == 2 && bench.restored().count == 2)
        bench.time = Timestamp(milliseconds: 1200)
        bench.table.expire(at: bench.time)
        #expect(bench.table.count == 0 && bench.table.byteCount == 0)
        #expect(bench.restored().count == 0)
    }

    @Test func `at a bound a new key is refused, and none is dropped before its time`() throws {
        let bench = Bench { $0.keyCountMax = 2 }
        for key in ["a", "b"] { _ = try bench.execute(Self.increment(), key).get() }
        #expect(bench.execute(Self.increment(), "c").refusal == .tooManyIdentities)
        #expect(try bench.execute(Self.increment(), "a").get().isRepeat)
        bench.time = Timestamp(milliseconds: 1100)
        #expect(try bench.execute(Self.increment(), "c").get().revision == 3)
        // Each key needs room for a short answer, before it has one.
        let narrow = Bench { $0.byteCountMax = 4096 }
        var count = 0
        while case .success = narrow.execute(Self.increment(), "k\(count)") { count += 1 }
        #expect((4...10).contains(count), "\(count)")
        #expect(narrow.table.byteCount <= 4096)
        #expect(try narrow.execute(Self.increment(), "k0").get().isRepeat)
    }

    @Test func `a long answer is not kept, but its change is made once`() throws {
        let bench = Bench()
        let long = "[\"\(String(repeating: "x", count: IdentityTable.answerByteCountMax))\"]"
        let name = ReplicaTests.name("long")
        let merge = unsafe Array(long.utf8).withUnsafeBytes {
            Change.owned(unsafe Change.merge(name, patch: $0))
        }
        let revision = try bench.execute(merge, "a").get().revision
        for table in [bench.table, bench.restored()] {
            bench.table = table
            #expect(bench.execute(merge, "a").refusal == .repeated(.answerNotKept))
        }
        #expect(bench.state.revision == revision)
        // It has no effect: a repeat may run.
        let get = Change.transaction(Transaction([.init(name, .get)]))
        #expect(try !bench.execute(get, "b").get().isRepeat)
        #expect(try !bench.execute(get, "b").get().isRepeat)
        // The value of a put is not in its answer.
        let put = unsafe Array(long.utf8).withUnsafeBytes {
            Change.owned(unsafe Change.put(name, value: $0))
        }
        _ = bench.execute(put, "c")
        #expect(try bench.execute(put, "c").get().isRepeat)
    }

    @Test func `decisions without effect are bounded until a commit has them`() throws {
        let bench = Bench {
            $0.keyCountMax = 10_000
            $0.byteCountMax = 16 << 20
        }
        var number = 0
        while bench.table.count == number {
            #expect(bench.execute(.delete(Self.missing), "key \(number)").refusal == .missing)
            number += 1
        }
        #expect(number > 500)
        #expect(bench.table.unstored.count <= 1 + IdentityTable.pendingByteCountMax)
        #expect(bench.restored().count == bench.table.count)
        #expect(bench.restored().unstored == bench.table.unstored)
        // Any commit stores them.
        _ = bench.execute(Self.increment(), nil)
        #expect(bench.table.unstored == [] && bench.notes.count == 1)
        #expect(bench.restored().count == number - 1)
        #expect(bench.execute(.delete(Self.missing), "key \(number)").refusal == .missing)
        #expect(bench.table.count == number)
    }

    @Test func `a restart brings the table back as it was, whatever was done`() throws {
        var random = SeededGenerator(7)
        let bench = Bench {
            $0.keyCountMax = 40
            $0.byteCountMax = 30_000
        }
        for _ in 0..<2000 {
            bench.time.milliseconds += Int64.random(in: 0..<6, using: &random)
            let key =
                Bool.random(using: &random) ? "\(Int.random(in: 0..<60, using: &random))" : nil
            let change: Change =
                switch Int.random(in: 0..<4, using: &random) {
                case 0: .delete(Self.missing)
                case 1: ReplicaTests.put("missing")
                case 2:
                    .transaction(Transaction([.init(Self.sum, .get), .init(Self.missing, .get)]))
                default: Self.increment()
                }
            _ = bench.execute(change, key)
            bench.table.expire(at: bench.time)
            guard Int.random(in: 0..<20, using: &random) == 0 else { continue }
            let restored = bench.restored()
            #expect(restored.count == bench.table.count)
            #expect(restored.byteCount == bench.table.byteCount)
            #expect(restored.digest == bench.table.digest)
            #expect(restored.unstored == bench.table.unstored)
            // The restored table decides what follows.
            bench.table = restored
        }
        #expect(bench.table.count > 10 && bench.table.digest != 0)
        bench.time.milliseconds += 1000
        bench.table.expire(at: bench.time)
        #expect(bench.table.digest == 0)
    }

    @Test func `a decision of each kind comes back, and damage is found`() throws {
        let bench = Bench()
        let claim = unsafe Array("7".utf8).withUnsafeBytes {
            unsafe Change.Claim(ReplicaTests.name("c/"), value: $0)
        }
        _ = bench.execute(ReplicaTests.put("q/1"), nil)
        let change = Change.transaction(
            Transaction([
                .init(Self.sum, .increment(by: 2), ttl: 5000),
                .init(ReplicaTests.name("q/"), .pop(claim)),
                .init(ReplicaTests.name("q/"), .count), .init(ReplicaTests.name("none"), .get),
            ])
        )
        let first = try bench.execute(change, "a").get()
        let again = try bench.execute(change, "a").get()
        guard case .transaction(let transaction) = change else { return }
        var (one, other) = (JSONWriter(), JSONWriter())
        one.transaction(transaction, first)
        other.transaction(transaction, again)
        #expect(one.bytes == other.bytes)
        let note = try #require(bench.notes.first).bytes
        for count in 0..<note.count where count != 1 {
            let isRead = bench.reads(note[..<count])
            #expect(!isRead, "\(count)")
        }
        for other: [UInt8] in [[2] + note.dropFirst(), Array("{}".utf8)] {
            let isRead = bench.reads(other)
            #expect(!isRead)
        }
        var random = SeededGenerator(3)
        for _ in 0..<2000 {
            var broken = note
            broken[Int.random(in: 0..<note.count, using: &random)] ^=
                1 << UInt8.random(in: 0..<8, using: &random)
            // It is read as another one or as none, but never further than its end.
            _ = bench.reads(broken)
        }
    }
}

extension Decision {
    fileprivate var refusal: Refusal? {
        if case .failure(let refusal) = self { refusal } else { nil }
    }
}
