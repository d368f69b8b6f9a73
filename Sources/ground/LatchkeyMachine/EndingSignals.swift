package import Glibc

/// The signals that ask a command to finish.
package enum EndingSignals {
    /// SIGTERM, SIGINT, and SIGHUP unless it was ignored when the program started, as with `nohup`.
    package static var numbers: [Int32] {
        [SIGTERM, SIGINT] + (isIgnored(SIGHUP) ? [] : [SIGHUP])
    }

    static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        unsafe sigaction(number, nil, &action)
        let ignored = unsafe unsafeBitCast(SIG_IGN, to: Int.self)
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == ignored
    }

    /// Those that ask a service to finish: SIGHUP asks it to read its files again.
    package static let ofServices = [SIGTERM, SIGINT]

    /// Whether a signal that asks a service to finish has come while they are blocked.
    package static var isPending: Bool {
        var pending = sigset_t()
        unsafe sigpending(&pending)
        return ofServices.contains { unsafe sigismember(&pending, $0) == 1 }
    }

    package static var set: sigset_t { Self.set(of: numbers) }

    package static func set(of numbers: [Int32]) -> sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in numbers {
            unsafe sigaddset(&set, number)
        }
        return set
    }
}
