internal import CLatchkeySystem
internal import Glibc

/// Signals that end this program after it has cleaned up.
///
/// **Design.** They are blocked from the start on, but for those that were ignored. No handler
/// runs: one thread asks for them.
package final class DeferredEnd {
    private let set: sigset_t
    private var number: Int32?

    package init() {
        let numbers = (EndingSignals.numbers + [SIGQUIT]).filter { !EndingSignals.isIgnored($0) }
        set = EndingSignals.set(of: numbers)
        var set = set
        unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Whether one has come.
    package var isAsked: Bool {
        if number == nil { number = next() }
        return number != nil
    }

    /// Whether another one has come since: the user does not want to wait.
    package var isHurried: Bool { number != nil && next() != nil }

    /// Ends the program by the signal that has come; returns if none has.
    package func end() {
        guard isAsked, let number else { return }
        signal(number, SIG_DFL)
        var set = set
        raise(number)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    private func next() -> Int32? {
        var (set, limit) = (set, timespec())
        let number = unsafe sigtimedwait(&set, nil, &limit)
        return number > 0 ? number : nil
    }
}
