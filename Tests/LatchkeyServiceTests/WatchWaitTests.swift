import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyService
@testable import LatchkeyWatches

/// Waits for a change of one name, and places as text.
struct WatchWaitTests {
    /// How the wait ended; nil while it waits.
    private func wait(
        _ rig: WatchRig,
        _ id: UInt64 = 1,
        since: Revision,
        nanoseconds: UInt64 = 1_000_000_000
    ) -> () -> WatchWait.End? {
        let ends = Synchronized<[WatchWait.End], LockStrategy>([])
        rig.pump.wait(
            id,
            WatchWait(
                filter: .name(Array("a".utf8)),
                since: since,
                deadlineNanoseconds: rig.now + nanoseconds
            ) { end in ends.write { $0.append(end) } }
        )
        return {
            let all = ends.read { $0 }
            #expect(all.count <= 1, "a wait ends once")
            return all.first
        }
    }

    @Test func `a wait ends with the first commit of its name`() {
        let rig = WatchRig()
        let end = wait(rig, since: 0)
        rig.increment("b")
        #expect(end() == nil)
        rig.commit(increment: ["b"], delete: ["a"])
        rig.commit(increment: ["b", "a"])
        rig.run()
        #expect(end() == .changed)
        rig.commit(increment: ["a"])
        rig.run(after: 2_000_000_000)
        #expect(end() == .changed)
    }

    @Test func `a wait ends when its time is up, and not before`() {
        let rig = WatchRig()
        let end = wait(rig, since: 0)
        rig.run(after: 900_000_000)
        #expect(end() == nil)
        rig.run(after: 200_000_000)
        #expect(end() == .timeUp)
        #expect(rig.pump.run(rig.now) == nil)
    }

    @Test func `a wait that was given up ends at once, and once`() {
        let rig = WatchRig()
        let end = wait(rig, since: 0)
        rig.pump.end(wait: 2, .gone)
        #expect(end() == nil)
        rig.pump.end(wait: 1, .gone)
        #expect(end() == .gone)
        rig.increment("a")
        rig.pump.end(wait: 1, .gone)
        #expect(end() == .gone)
        #expect(rig.pump.run(rig.now) == nil)
    }

    @Test func `a commit between the look and the wait ends the wait at once`() {
        let rig = WatchRig()
        // A watcher, so that the pump has gone on.
        let stream = rig.open(.now(0))
        rig.run()
        rig.commit(increment: ["a"])
        rig.increment("b")
        #expect(wait(rig, 50, since: 0)() == .changed)
        #expect(wait(rig, 51, since: 1)() == nil)
        #expect(!stream.isEnded)
    }

    @Test func `waiters for the same name are woken in the order in which they came`() {
        let rig = WatchRig()
        let woken = Synchronized<[UInt64], LockStrategy>([])
        let ids = Array(1...50 as ClosedRange<UInt64>)
        // Added in another order, as a second round of some of them is.
        for id in ids.reversed() {
            let filter: WatchFilter = id % 2 == 0 ? .named("a") : .mixed
            let wait = WatchWait(filter: filter, since: 0, deadlineNanoseconds: rig.now + 1 << 40) {
                _ in
                woken.write { $0.append(id) }
            }
            rig.pump.wait(id, wait)
        }
        rig.touch("b", increment: ["b"])
        rig.run()
        #expect(woken.read { $0 }.isEmpty)
        rig.increment("a")
        #expect(woken.read { $0 } == ids)
    }

    @Test func `a wait whose client may not do that any more ends`() {
        let rig = WatchRig()
        let isAllowed = Synchronized<Bool, LockStrategy>(true)
        let ends = Synchronized<[WatchWait.End], LockStrategy>([])
        var wait = WatchWait(
            filter: .named("a"),
            since: 0,
            deadlineNanoseconds: rig.now + 1 << 40
        ) { end in ends.write { $0.append(end) } }
        wait.isAllowed = { isAllowed.read { $0 } }
        rig.pump.wait(1, wait)
        rig.pump.tokensChanged()
        #expect(ends.read { $0 }.isEmpty)
        isAllowed.write { $0 = false }
        rig.pump.tokensChanged()
        #expect(ends.read { $0 } == [.revoked])
        rig.pump.wait(2, wait)
        #expect(ends.read { $0 } == [.revoked, .revoked])
    }

    @Test func `a wait ends with the drain`() {
        let rig = WatchRig()
        let end = wait(rig, since: 0)
        rig.pump.drain(rig.now)
        #expect(end() == .draining)
        #expect(wait(rig, 2, since: 0)() == .draining)
    }

    @Test func `places are read as they are written`() {
        for text in ["0", "7", "12.1", "12.40"] {
            #expect(WatchPlace(text)?.text == text)
        }
        #expect(WatchPlace("12.0")?.text == "11")
        for text in [
            "", "-1", "+1", "1.", ".1", "1.2.3", "0.1", "x", "1 ", "１", "99999999999999999999",
        ] {
            #expect(WatchPlace(text) == nil, "'\(text)'")
        }
    }
}
