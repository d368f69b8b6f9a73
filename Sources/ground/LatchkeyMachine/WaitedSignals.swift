internal import CLatchkeySystem
internal import Glibc

/// Signals that this thread takes one by one, instead of their default actions.
///
/// **Design.** They are blocked from the start on, in this thread and in those that it starts. No
/// handler runs: one thread asks for them.
package final class WaitedSignals {
    /// The signals that ask a program to end.
    package static let ending = [SIGTERM, SIGINT, SIGHUP, SIGQUIT]
    /// The signals that are for another program, and those that ask to end.
    private static let passed = ending + [SIGUSR1, SIGUSR2]

    private let set: sigset_t

    package init() {
        set = EndingSignals.set(of: Self.passed + [SIGCHLD])
        // If it is ignored, the end of a child cannot be waited for.
        signal(SIGCHLD, SIG_DFL)
        var set = set
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits for a signal other than SIGCHLD.
    ///
    /// - Parameter time: As ``BootTime`` counts; does not wait if it has passed.
    /// - Returns: The signal; nil when the time is over, and after the end of a child.
    package func next(until time: UInt64 = 0) -> Int32? {
        let now = BootTime.now
        let left = time > now ? time - now : 0
        var limit = timespec(
            tv_sec: Int(left / 1_000_000_000),
            tv_nsec: Int(left % 1_000_000_000)
        )
        var set = set
        let number = unsafe sigtimedwait(&set, nil, &limit)
        return Self.passed.contains(number) ? number : nil
    }
}
