internal import Glibc
internal import LatchkeyHTTP
internal import LatchkeySync

/// The service as a process: from its start to the signal that ends it.
///
/// **Design.** The main thread blocks SIGTERM and SIGINT before any other thread exists, so that
/// all inherit the mask, and then waits for them. No signal handler ever runs.
package enum Service {
    /// Serves until SIGTERM or SIGINT, then drains.
    ///
    /// Must be called on the main thread before there are others, so that all of them inherit its
    /// signal mask.
    ///
    /// `announce` is given the first line of output once the service answers.
    ///
    /// - Returns: the exit status: 0 after a complete drain, 1 if requests or answers were cut off
    ///   or the service could not start.
    package static func run(
        _ configuration: ServiceConfiguration,
        announce: (String) -> Void
    ) -> Int32 {
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGTERM)
        unsafe sigaddset(&signals, SIGINT)
        // Blocked, and waited for below: no handler runs in between, in whatever state.
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let instance: ServiceInstance
        do {
            instance = try ServiceInstance(configuration)
        } catch {
            log.write(.error, "cannot start", ["reason": error.description])
            return 1
        }
        let host = configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host
        announce(
            "latchkey: listening on http://\(host):\(instance.port) "
                + "(strategy \(configuration.strategy.rawValue))\n"
        )
        log.write(.info, "serving", ["strategy": configuration.strategy.rawValue])
        var signal: Int32 = 0
        unsafe sigwait(&signals, &signal)
        log.write(.info, "draining", ["seconds": "\(configuration.drainSeconds)"])
        // The next signal ends the process at once, as it would have without us.
        unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        let cutOff = instance.drain()
        guard cutOff == (0, 0) else {
            log.write(
                .error,
                "stopped too early",
                [
                    "requestsCutOff": "\(cutOff.requestCount)",
                    "answersCutOff": "\(cutOff.answerCount)",
                ]
            )
            return 1
        }
        log.write(.info, "stopped")
        return 0
    }
}
