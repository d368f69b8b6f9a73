import CLatchkeyMachine
import CLatchkeySystem
import Dispatch
import Foundation
import LatchkeyMachine
import Synchronization

extension ComparisonReport.MutexObservation {
    /// Holds a `Mutex`, lets a thread wait for it, and asks the kernel in which call the thread
    /// sleeps.
    ///
    /// **Design.** The kernel shows in `/proc/self/task/<thread>/syscall` which call a thread is
    /// blocked in, and its arguments. A priority-inheriting lock waits in `FUTEX_LOCK_PI`, one that
    /// spins first and then sleeps in `FUTEX_WAIT`. Version numbers would not tell: distributions
    /// and development snapshots differ. The thread gives its identifier before it asks for the
    /// mutex. The caller holds the mutex and looks again and again, within its time.
    ///
    /// - Parameter patienceSeconds: The time in which the waiting thread must go to sleep.
    /// - Returns: The call in which the thread waited.
    package static func observe(
        patienceSeconds: Int = 2
    ) -> ComparisonReport.MutexObservation {
        observe(patienceSeconds) { mutex in mutex.withLock { _ in } }
    }

    static func observe(
        _ patienceSeconds: Int,
        _ wait: @escaping @Sendable (borrowing Mutex<Void>) -> Void
    ) -> ComparisonReport.MutexObservation {
        let subject = ObservedMutex()
        let ended = DispatchSemaphore(value: 0)
        let seen = subject.mutex.withLock { _ in
            Thread.detachNewThread {
                subject.waiter.store(latchkey_machine_thread_identifier(), ordering: .releasing)
                wait(subject.mutex)
                ended.signal()
            }
            return watch(subject, patienceSeconds)
        }
        ended.wait()
        return seen
    }

    private static func watch(
        _ subject: ObservedMutex,
        _ patienceSeconds: Int
    ) -> ComparisonReport.MutexObservation {
        let end = latchkey_system_nanoseconds() + UInt64(patienceSeconds) * 1_000_000_000
        var last = "it was never seen to sleep"
        while latchkey_system_nanoseconds() < end {
            usleep(500)
            let thread = subject.waiter.load(ordering: .acquiring)
            guard thread != 0 else { continue }
            let path = "/proc/self/task/\(thread)/syscall"
            guard let line = SystemFile.line(path) else {
                last = "the kernel does not show what a thread waits in"
                continue
            }
            if let observation = ComparisonReport.MutexObservation(systemCall: line) {
                return observation
            }
        }
        return ComparisonReport.MutexObservation(
            kind: .unknown,
            evidence: "A thread waited for a held Mutex, and \(last)."
        )
    }

    /// Reads a line of `/proc/<thread>/syscall`: the call's number and its arguments in
    /// hexadecimal, of which the second is the futex operation.
    ///
    /// `nil` if the thread is not in a futex call.
    init?(systemCall line: String) {
        let words = line.split(separator: " ")
        guard words.count > 2, words[0] == "\(SYS_futex)",
            let operation = Int32(words[2].dropFirst("0x".count), radix: 16)
        else { return nil }
        // Without the flags for private futexes and the clock.
        let command = operation & ~(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME)
        let lockPI2: Int32 = 13
        switch command {
        case FUTEX_LOCK_PI, lockPI2:
            kind = .priorityInheritingFutex
            evidence = "A thread that waits for a held Mutex sleeps in FUTEX_LOCK_PI."
        case FUTEX_WAIT, FUTEX_WAIT_BITSET:
            kind = .spinningFutex
            evidence = "A thread that waits for a held Mutex sleeps in FUTEX_WAIT."
        default:
            return nil
        }
    }
}

private final class ObservedMutex: Sendable {
    let mutex = Mutex<Void>(())
    let waiter = Atomic<Int32>(0)
}
