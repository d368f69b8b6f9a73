import Dispatch
import LatchkeyTestSupport
import Testing

@testable import LatchkeyService
@testable import LatchkeyStore
@testable import LatchkeyWatches

/// Reads that wait for the journal.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct WatchedHistoryTests {
    private static func store(_ journal: Journal, shown: Revision) -> WatchedHistory {
        WatchedHistory(.underLock(after: shown), journal)
    }

    private static func commit(_ revision: Revision) -> Commit {
        Commit(revision: revision, time: Timestamp(milliseconds: 0), first: nil)
    }

    @Test func `a read that waited does not hold up the writer that it waited for`() {
        let journal = Journal(HistoryLimits())
        let isWritten = DispatchSemaphore(value: 0)
        let isRead = DispatchSemaphore(value: 0)
        Self.store(journal, shown: 2).whenCaughtUp { latest in
            #expect(latest == 2)
            // If the writer's thread were to read, it would wait for itself.
            #expect(isWritten.isSignalled())
            isRead.signal()
        }
        journal.append(Self.commit(1))
        #expect(isRead.wait(timeout: .now()) == .timedOut)
        journal.append(Self.commit(2))
        isWritten.signal()
        #expect(isRead.isSignalled())
    }

    @Test func `a read that need not wait is made at once`() {
        let journal = Journal(HistoryLimits())
        journal.append(Self.commit(1))
        let isRead = DispatchSemaphore(value: 0)
        Self.store(journal, shown: 1).whenCaughtUp { _ in isRead.signal() }
        #expect(isRead.wait(timeout: .now()) == .success)
    }
}
