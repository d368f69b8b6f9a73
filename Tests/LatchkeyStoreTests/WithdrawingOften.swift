import LatchkeyGuards
import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// Threads change and read a store, whose commits a disk keeps, or fails to keep.
///
/// Delays are planted between the guarded section and the hook, and between the steps of a commit
/// and of a withdrawal.
struct WithdrawingOften {
    static let (threadCount, changeCount, groupCount, withdrawalCount) = (4, 1500, 10, 20)
    private static let names = (0..<12).map { "n\($0)" }
    /// Never full: what is withdrawn is given back exactly.
    private static let limits = StoreLimits.quotas(["n": .max, "n1": .max, "x": .max, "t": .max])

    let seed: UInt64

    func run(_ kind: StrategyKind) {
        let disk = Disk()
        let delays = Delays()
        let hook = CommitHook(
            UnreleasedLimits(),
            beforePassing: { delays.delay(1) },
            { commit, note in disk.receive(commit, note?.bytes) }
        )
        let store = BlockingStore(
            kind,
            stripeCount: 8,
            limits: Self.limits,
            hook: hook,
            betweenSteps: { delays.delay(3) }
        )
        let isOver = Atomic<Bool>(false)
        let writer = TestThread {
            var random = SeededGenerator(seed)
            while disk.work(store.base, hook, &random) || !isOver.load(ordering: .acquiring) {
                Yield.now()
            }
        }
        let answers = AnswerCounts(Self.threadCount * Self.changeCount)
        let readers = Arrivals()
        let threads = (0...Self.threadCount).map { thread in
            TestThread {
                var random = SeededGenerator(seed + UInt64(thread) + 1)
                if thread < Self.threadCount {
                    change(store, disk, answers, thread, &random)
                    readers.arrive()
                } else {
                    while readers.value < Self.threadCount {
                        read(store, disk, &random)
                    }
                }
            }
        }
        // Three times as long as usual: with a busy machine, queues hand over slowly.
        let ended = threads.allSatisfy { $0.join() || $0.join() || $0.join() }
        isOver.store(true, ordering: .releasing)
        #expect(ended && writer.join(), "seed \(seed)")
        #expect(answers.areOnceEach, "seed \(seed)")
        #expect(disk.withdrawalCount == Self.withdrawalCount, "seed \(seed)")
        let copy = BlockingStore(kind, stripeCount: 4, limits: Self.limits)
        for commit in disk.commits {
            copy.apply(commit)
        }
        #expect(store.base.usage == copy.base.usage, "seed \(seed)")
        #expect(store.base.quotaUsage == copy.base.quotaUsage, "seed \(seed)")
        #expect(store.digest() == copy.digest(), "seed \(seed)")
        #expect(hook.unreleased == (0, 0), "seed \(seed)")
        #expect(answers.successes.read { $0 } == disk.commits.count - disk.evictionCount)
    }

    /// Submits changes in groups, waits for the answers of each, and reads what they left.
    private func change(
        _ store: BlockingStore,
        _ disk: Disk,
        _ answers: AnswerCounts,
        _ thread: Int,
        _ random: inout SeededGenerator
    ) {
        let own = (0..<Self.groupCount).map { "t\(thread)-\($0)" }
        var last: [String: Revision] = [:]
        for group in 0..<Self.changeCount / Self.groupCount {
            let arrivals = Arrivals()
            let outcomes = Synchronized<[String: Decision], LockStrategy>([:])
            for index in 0..<Self.groupCount {
                let id = (thread * Self.changeCount) + group * Self.groupCount + index
                let isOwn = Bool.random(using: &random)
                let change = isOwn ? Change(.put(own[index], "\(id)")) : shared(&random)
                let receiver = NotingReceiver(id: id) { decision in
                    answers.arrive(id, decision)
                    disk.check(decision, of: id)
                    if isOwn {
                        outcomes.write { $0[own[index]] = decision }
                    }
                    arrivals.arrive()
                }
                submit(store, change, receiver)
            }
            #expect(arrivals.wait(for: Self.groupCount), "seed \(seed)")
            for (name, decision) in outcomes.read({ $0 }) {
                if case .success(let commit) = decision {
                    last[name] = commit.revision
                }
                #expect(store.property(name)?.revision == last[name], "seed \(seed)")
            }
        }
    }

    private func submit(
        _ store: BlockingStore,
        _ change: Change,
        _ receiver: NotingReceiver
    ) {
        var isSubmitted = false
        while !isSubmitted {
            do {
                try store.base.commit(change, .here(), receiver: receiver)
                isSubmitted = true
            } catch {
                Yield.now()
            }
        }
    }

    private func shared(_ random: inout SeededGenerator) -> Change {
        func name() -> String { Self.names[Int.random(in: 0..<Self.names.count, using: &random)] }
        return switch Int.random(in: 0..<7, using: &random) {
        case 0: Change(.delete(name()))
        case 1: Change(.put(name(), "1", Conditions(ifNoneMatch: .any)))
        case 2: Change([.increment(name()), .delete("x\(name())"), .increment("y\(name())")])
        case 3: Change([.put("x\(name())", "123456"), .put("z", "1"), .delete(name())])
        case 4: Change([.get(name(), Conditions(ifMatch: .any)), .get("y\(name())")])
        default: Change(.increment(name()))
        }
    }

    private func read(
        _ store: BlockingStore,
        _ disk: Disk,
        _ random: inout SeededGenerator
    ) {
        let name = Self.names[Int.random(in: 0..<Self.names.count, using: &random)]
        for name in [name, "x\(name)", "y\(name)", "z"] {
            if let property = store.property(name) {
                #expect(disk.has(property), "seed \(seed): \(name) was not written")
            }
        }
        let page = store.list(prefix: "", limit: 1000)
        #expect(disk.has(page), "seed \(seed): the page of \(page.revision)")
    }
}

/// Takes the decision about a change, and has a note.
private struct NotingReceiver: DecisionReceiver {
    let id: Int
    let closure: @Sendable (Decision) -> Void

    init(id: Int, _ closure: @escaping @Sendable (Decision) -> Void) {
        self.id = id
        self.closure = closure
    }

    func receive(_ decision: Decision) { closure(decision) }
    func note(for commit: Commit) -> CommitNote? {
        CommitNote(author: nil, bytes: Array("\(id)".utf8))
    }
}

/// How often each change was answered.
private final class AnswerCounts: Sendable {
    private let counts: Synchronized<[Int], LockStrategy>
    let successes = Synchronized<Int, LockStrategy>(0)

    init(_ count: Int) {
        counts = Synchronized(Array(repeating: 0, count: count))
    }

    func arrive(_ id: Int, _ decision: Decision) {
        counts.write { $0[id] += 1 }
        if case .success(let commit) = decision, !commit.isEmpty {
            successes.write { $0 += 1 }
        }
    }

    var areOnceEach: Bool { counts.read { $0.allSatisfy { $0 == 1 } } }
}

/// Yields the processor in a part of its calls.
private final class Delays: Sendable {
    private let count = Atomic<Int>(0)

    func delay(_ length: Int) {
        let call = count.wrappingAdd(1, ordering: .relaxed).newValue
        for _ in 0..<(call % 16 == 0 ? 8 * length : call % 5 == 0 ? 1 : 0) {
            Yield.now()
        }
    }
}

/// What keeps commits in their order, in batches, some of which it fails to keep.
private final class Disk: Sendable {
    private struct State: Sendable {
        var pending: [Revision: (commit: Commit, note: [UInt8]?)] = [:]
        /// What is kept.
        var commits: [Commit] = []
        var notes: [[UInt8]?] = []
        var properties: [PropertyName: Property] = [:]
        var propertyCounts = [0]
        var withdrawalCount = 0
        var isWithdrawing = false
    }

    private let state = Synchronized<State, LockStrategy>(State())

    var commits: [Commit] { state.read(\.commits) }
    var withdrawalCount: Int { state.read(\.withdrawalCount) }
    var evictionCount: Int { state.read { $0.notes.count { $0 == nil } } }

    func receive(_ commit: Commit, _ note: [UInt8]?) {
        state.write { state in
            let former = state.pending.updateValue((commit, note), forKey: commit.revision)
            // Only a commit that is being withdrawn can be followed by one of its revision.
            #expect(former == nil)
            #expect(commit.revision > Revision(state.commits.count))
        }
    }

    /// Keeps a batch, or withdraws it; false if there was nothing to do.
    func work(
        _ store: PropertyStore,
        _ hook: CommitHook,
        _ random: inout SeededGenerator
    ) -> Bool {
        let fails = Int.random(in: 0..<4, using: &random) == 0
        let (hasWork, withdraws, last) = state.write { state in
            var next = Revision(state.commits.count) + 1
            guard state.pending[next] != nil else { return (false, false, Revision(0)) }
            let isDue = state.commits.count / 60 >= state.withdrawalCount
            if fails, isDue, state.withdrawalCount < WithdrawingOften.withdrawalCount {
                state.withdrawalCount += 1
                return (true, true, next - 1)
            }
            while let (commit, note) = state.pending.removeValue(forKey: next) {
                keep(commit, note, &state)
                next += 1
            }
            return (true, false, next - 1)
        }
        guard withdraws else {
            hook.release(through: last)
            return hasWork
        }
        let isTold = Gate()
        let reason: Withdrawal = last % 2 == 0 ? .full : .unavailable
        store.withdraw(after: last, reason) { [self] in
            state.write { state in
                #expect(state.pending.keys.allSatisfy { $0 > last })
                state.pending = [:]
            }
            isTold.open()
        }
        #expect(isTold.pass())
        return true
    }

    private func keep(_ commit: Commit, _ note: [UInt8]?, _ state: inout State) {
        for effect in commit.effects {
            let name = PropertyName(of: effect.some)
            let former = state.properties[name]
            let follows = former.map { effect.former?.isSame(as: $0) ?? false }
            #expect(follows ?? (effect.former == nil), "the commit follows those that are kept")
            state.properties[name.copy()] = effect.property
        }
        state.commits.append(commit)
        state.notes.append(note)
        state.propertyCounts.append(state.properties.count)
    }

    /// Checks that a change was answered as it was kept.
    func check(_ decision: Decision, of id: Int) {
        guard case .success(let commit) = decision, !commit.isEmpty else { return }
        let isKept = state.read { state in
            let index = Int(commit.revision) - 1
            return index < state.commits.count && state.commits[index] === commit
                && state.notes[index] == Array("\(id)".utf8)
        }
        #expect(isKept, "a commit was answered that is not kept")
    }

    /// Whether a commit that is kept left the property.
    func has(_ property: Property) -> Bool {
        state.read { state in
            let index = Int(property.revision) - 1
            return index < state.commits.count
                && state.commits[index].effects.contains {
                    $0.property?.isSame(as: property) ?? false
                }
        }
    }

    /// Whether the page is the state at its revision.
    func has(_ page: Page) -> Bool {
        let count = state.read { state in
            page.revision < Revision(state.propertyCounts.count)
                ? state.propertyCounts[Int(page.revision)] : nil
        }
        return page.properties.allSatisfy(has)
            && (page.hasMore || page.properties.count == count)
    }
}
