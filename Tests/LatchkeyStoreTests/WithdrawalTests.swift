import LatchkeyStrategies
import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeyStore

/// Commits that are taken back before they are released.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct WithdrawalTests {
    @Test(arguments: Depth.kinds, [1, 8])
    func `what depends on a withdrawn commit is refused or decided again`(
        kind: StrategyKind,
        stripeCount: Int
    ) throws {
        withdrawingOnce(kind, stripeCount: stripeCount)
    }

    @Test(arguments: Depth.draws)
    func `every answer comes once, and the store is that of the released commits`(
        kind: StrategyKind,
        seed: UInt64
    ) throws {
        WithdrawingOften(seed: seed).run(kind)
    }

    /// Not under strategies that answer on threads of their own: the test holds one up.
    @Test(arguments: [StrategyKind.lock, .readWriteLock, .snapshot, .serialQueue])
    func `a commit of the new generation waits until the user was told`(
        kind: StrategyKind
    ) throws {
        passingLate(kind)
    }

    @Test(arguments: [StrategyKind.lock, .readWriteLock, .snapshot, .serialQueue])
    func `a commit that was withdrawn before it was passed on is not passed on`(
        kind: StrategyKind
    ) throws {
        withdrawingBeforePassing(kind)
    }

    @Test func `a revision that is used again does not release the answer before`() {
        let hook = CommitHook { _, _ in }
        hook.begin(after: 2)
        hook.beginWithdrawal(after: 2, .full)
        hook.endWithdrawal {}
        let time = Timestamp(milliseconds: 0)
        hook.pass(Commit(revision: 3, time: time, first: nil), 1, note: nil) { _ in }
        hook.release(through: 3)
        #expect(hook.isReleased(3, 1))
        #expect(!hook.isReleased(3, 0))
        let outcomes = Synchronized<[String], LockStrategy>([])
        for (revision, generation) in [(3, 0), (2, 0), (3, 1)] as [(Revision, Generation)] {
            hook.whenDecided(revision, generation) { outcome in
                outcomes.write { $0.append("\(outcome)") }
            }
        }
        let withdrawn = "withdrawn(LatchkeyStore.Withdrawal.full)"
        #expect(outcomes.read { $0 } == [withdrawn, "released", "released"])
    }

    /// The answer of the first is held until the second has begun; its completion lingers.
    @Test func `who is told of a withdrawal begins the next one at once`() throws {
        let (isTold, isBegun, isToldAgain) = (Gate(), Gate(), Gate())
        let hook = CommitHook { _, _ in }
        let time = Timestamp(milliseconds: 0)
        hook.pass(Commit(revision: 1, time: time, first: nil), 0, note: nil) { _ in
            #expect(isBegun.pass())
        }
        let second = TestThread {
            #expect(isTold.pass())
            hook.beginWithdrawal(after: 0, .unavailable)
            isBegun.open()
            hook.endWithdrawal { isToldAgain.open() }
        }
        hook.beginWithdrawal(after: 0, .full)
        hook.endWithdrawal {
            isTold.open()
            for _ in 0..<10_000 {
                Yield.now()
            }
        }
        #expect(second.join())
        #expect(isToldAgain.pass())
    }

    @Test func `a reader that looked before a withdrawal is not shown what it found`() throws {
        LookingBeforeWithdrawal().run()
    }

    @Test func `a generation begins when readers find what was there before`() throws {
        LookingDuringWithdrawal().run()
    }

    @Test func `an answer that is older than all known withdrawals counts as unknown`() {
        var withdrawals = Withdrawals()
        #expect(withdrawals.reason(5, 0) == nil)
        withdrawals.add(after: 4, .full)
        withdrawals.add(after: 2, .unknown)
        #expect(withdrawals.reason(5, 0) == .full)
        #expect(withdrawals.reason(4, 0) == .unknown)
        #expect(withdrawals.reason(2, 0) == nil)
        #expect(withdrawals.reason(5, 1) == .unknown)
        #expect(withdrawals.reason(5, 2) == nil)
        for _ in 0..<Withdrawals.countMax {
            withdrawals.add(after: 10, .unavailable)
        }
        #expect(withdrawals.reason(1, 1) == .unknown)
        #expect(withdrawals.reason(11, 2) == .unavailable)
        #expect(withdrawals.reason(10, 2) == nil)
        #expect(withdrawals.reason(11, 2 + UInt64(Withdrawals.countMax)) == nil)
    }
}

/// Two withdrawals.
///
///     commits                          released   withdrawn   answered
///     -------                          --------   ---------   --------
///     1 a put, 2 b put                 2                      both
///     3 a put, 4 b deleted, 5 c and d
///     6 x put, 7 x deleted                                    nothing that depends on them
///                                                 3 to 7      3 to 7 refused, all others again
///     3 e put, and a second time                              no
///                                                 3           the first refused
///     3 e put, the second time         3                      the second
private func withdrawingOnce(_ kind: StrategyKind, stripeCount: Int) {
    let commits = Arrivals()
    let hook = CommitHook { _, _ in commits.arrive() }
    let store = BlockingStore(kind, stripeCount: stripeCount, hook: hook)
    let answers = Answers(store)
    let full = "withdrawn(LatchkeyStore.Withdrawal.full)"

    answers.commit("1", Change(.put("a", "1")))
    #expect(commits.wait(for: 1))
    answers.commit("2", Change(.put("b", "10")))
    #expect(commits.wait(for: 2))
    hook.release(through: 2)
    var expected = ["1 done", "2 done"]
    #expect(answers.wait(for: expected))
    let (usage, digest) = (store.base.usage, store.digest())

    answers.commit("3", Change(.put("a", "22")))
    #expect(commits.wait(for: 3))
    answers.commit("4", Change(.delete("b")))
    #expect(commits.wait(for: 4))
    answers.commit("5", Change([.put("c", "333"), .put("d", "4"), .delete("a")]))
    #expect(commits.wait(for: 5))
    answers.commit("6", Change(.put("x", "1")))
    #expect(commits.wait(for: 6))
    answers.commit("7", Change(.delete("x")))
    #expect(commits.wait(for: 7))
    for name in ["a", "b", "c", "d", "x"] {
        answers.look(name)
    }
    let second = Conditions(ifMatch: .oneOf([2]))
    answers.commit("read b", Change(.get("b", second)))
    answers.commit("delete d", Change(.delete("d", second)))
    answers.list()
    #expect(answers.wait(for: expected))
    // The others have been decided and given back their places, also where that is done later.
    while hook.unreleased.count != 5 {
        Yield.now()
    }

    withdraw(store, after: 2, .full)
    expected += (3...7).map { "\($0) \(full)" }
    expected += ["a 1", "b 10", "c -", "d -", "x -"]
    expected += ["read b done", "delete d missing", "page 2: 2"]
    #expect(answers.wait(for: expected))
    #expect(store.base.usage == usage)
    #expect(store.digest() == digest)
    #expect(hook.unreleased == (0, 0))

    let absent = Conditions(ifNoneMatch: .any)
    answers.commit("first", Change(.put("e", "1", absent)))
    #expect(commits.wait(for: 8))
    answers.commit("second", Change(.put("e", "2", absent)))
    #expect(answers.wait(for: expected))
    withdraw(store, after: 2, .full)
    expected += ["first \(full)"]
    #expect(commits.wait(for: 9), "the second one is made now")
    #expect(answers.wait(for: expected))
    hook.release(through: 3)
    expected += ["second done"]
    #expect(answers.wait(for: expected))
    #expect(store.value("e") == "2")
    #expect(hook.unreleased == (0, 0))
}

func withdraw(
    _ store: BlockingStore,
    after revision: Revision,
    _ reason: Withdrawal
) {
    let isWithdrawn = Gate()
    store.base.withdraw(after: revision, reason) { isWithdrawn.open() }
    #expect(isWithdrawn.pass())
}

/// A commit is on its way to the user of the hook while it is withdrawn.
///
///     thread of a            withdrawal         thread of b
///     -----------            ----------         -----------
///     revision 1
///     is being received
///                            takes a back
///                                               revision 1
///                                               waits to be passed
///     has been received ───▶ ends ────────────▶ is received
private func passingLate(_ kind: StrategyKind) {
    let events = Synchronized<[String], LockStrategy>([])
    let (isReceived, goesOn, isTold) = (Gate(), Gate(), Gate())
    let received = Arrivals()
    let hook = CommitHook { commit, _ in
        let name = commit.first.map { PropertyName(of: $0.some).text } ?? ""
        events.write { $0.append(name) }
        if name == "a" {
            isReceived.open()
            goesOn.pass()
        }
        received.arrive()
    }
    let store = BlockingStore(kind, stripeCount: 4, hook: hook)
    let one = TestThread {
        #expect(
            Outcome(store.commit(Change(.put("a", "1"))))
                == .refused(.withdrawn(.unavailable))
        )
    }
    #expect(isReceived.pass())
    store.base.withdraw(after: 0, .unavailable) {
        events.write { $0.append("told") }
        isTold.open()
    }
    let other = TestThread {
        #expect(Outcome(store.commit(Change(.put("b", "1")))) == .created(1))
    }
    #expect(isTold.staysClosed)
    #expect(events.read { $0 } == ["a"])
    goesOn.open()
    #expect(isTold.pass())
    #expect(one.join())
    #expect(received.wait(for: 2))
    #expect(events.read { $0 } == ["a", "told", "b"])
    hook.release(through: 1)
    #expect(other.join())
    #expect(store.value("a") == nil)
}

/// A commit is withdrawn before its thread passes it to the hook, and another one gets its
/// revision.
private func withdrawingBeforePassing(_ kind: StrategyKind) {
    let received = Synchronized<[String], LockStrategy>([])
    let (isHeld, goesOn) = (Gate(), Gate())
    let holds = Atomic<Bool>(true)
    let hook = CommitHook(
        UnreleasedLimits(),
        beforePassing: {
            if holds.exchange(false, ordering: .relaxed) {
                isHeld.open()
                goesOn.pass()
            }
        },
        { commit, _ in
            received.write {
                $0.append(commit.first.map { PropertyName(of: $0.some).text } ?? "")
            }
        }
    )
    let store = BlockingStore(kind, stripeCount: 4, hook: hook)
    let late = TestThread {
        #expect(
            Outcome(store.commit(Change(.put("a", "1")))) == .refused(.withdrawn(.unknown))
        )
    }
    #expect(isHeld.pass())
    withdraw(store, after: 0, .unknown)
    let other = TestThread {
        #expect(Outcome(store.commit(Change(.put("b", "1")))) == .created(1))
    }
    while hook.unreleased.count < 1 || received.read({ $0.isEmpty }) {
        Yield.now()
    }
    hook.release(through: 1)
    #expect(other.join())
    goesOn.open()
    #expect(late.join())
    #expect(received.read { $0 } == ["b"])
    #expect(hook.unreleased == (0, 0))
}
