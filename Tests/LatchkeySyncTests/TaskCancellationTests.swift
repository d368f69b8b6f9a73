import LatchkeyTestSupport
import Synchronization
import Testing

@testable import LatchkeySync

/// Tasks whose thread a lock blocks.
///
/// Off the pool, because the task has one of the few threads of it until the test lets it go on.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct TaskCancellationTests {
    /// The task has passed the first check.
    ///
    ///     holder                 task
    ///     ------                 ----
    ///     enters
    ///     inside ──────────────▶ was not cancelled yet; sleeps on the lock
    ///                            is cancelled
    ///     leaves ──────────────▶ gets the lock, and must not run its body
    @Test func `a task that is cancelled while its thread is blocked does not enter`() async {
        let value = Guarded<[String]>([])
        let (inside, leave) = (Gate(), Gate())
        let holder = TestThread {
            value.write { _ in
                inside.open()
                leave.pass()
            }
        }
        #expect(inside.pass())
        let task = Task { () -> AccessRefused? in
            do throws(AccessRefused) {
                try await value.asyncWrite { $0.append("entered") }
                return nil
            } catch {
                return error
            }
        }
        let isAsleep = eventually {
            value.guarded.first.load(ordering: .relaxed) == AdaptiveLock.contended
        }
        #expect(isAsleep)
        task.cancel()
        leave.open()
        #expect(await task.value == .cancelled)
        #expect(holder.join())
        #expect(value.value == [])
    }

    @Test func `a snapshot strategy that is given a second value stops`() async {
        let exit = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let strategy = SnapshotStrategy()
            _ = Synchronized([1], strategy: strategy)
            _ = Synchronized(7, strategy: strategy)
        }
        let said = String(decoding: exit?.standardErrorContent ?? [], as: UTF8.self)
        #expect(said.contains("guards one value and was given a second"))
    }
}
