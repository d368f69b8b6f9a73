internal import Glibc
internal import LatchkeyHTTP
internal import LatchkeySync

/// The service as a process: from its start to the signal that ends it.
///
/// **Design.** The main thread blocks the signals that end the service before any other thread
/// exists, so that all inherit the mask, and then waits for them. No signal handler ever runs. What
/// is printed is written by threads of its own: a reader that has stopped reading stops nothing.
package enum Service {
    /// How long the end waits for the readers of the last lines.
    private static let flushMilliseconds = 200

    /// Serves until SIGTERM, SIGINT or SIGHUP, then drains.
    ///
    /// Must be called on the main thread before there are others, so that all of them inherit its
    /// signal mask.
    ///
    /// Prints one line on standard output once the service answers.
    ///
    /// - Returns: the exit status: 0 after a complete drain, 1 if requests or answers were cut off
    ///   or the service could not start.
    package static func run(_ configuration: ServiceConfiguration) -> Int32 {
        var signals = EndingSignals.set
        // Blocked, and waited for below: no handler runs in between, in whatever state.
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let output = LineWriter(descriptor: 1)
        defer {
            output.flush(withinMilliseconds: flushMilliseconds)
            LineWriter.standardError.flush(withinMilliseconds: flushMilliseconds)
        }
        if let reason = DescriptorLimit.raise(for: configuration) {
            log.write(.error, "cannot start", ["reason": reason])
            return 1
        }
        let instance: ServiceInstance
        do {
            instance = try ServiceInstance(configuration)
        } catch {
            log.write(.error, "cannot start", ["reason": error.description])
            return 1
        }
        let address = configuration.http.host
        let host = address.contains(":") ? "[\(address)]" : address
        let announcement =
            "latchkey: listening on http://\(host):\(instance.port) "
            + "(strategy \(configuration.strategy.rawValue))\n"
        output.append(Array(announcement.utf8))
        log.write(.info, "serving", ["strategy": configuration.strategy.rawValue])
        var signal: Int32 = 0
        unsafe sigwait(&signals, &signal)
        log.write(.info, "draining", ["seconds": "\(configuration.drainTime.components.seconds)"])
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
