internal import CLatchkeySystem
internal import Dispatch
internal import Glibc
internal import LatchkeyAccess
internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyMachine
internal import LatchkeyPersistence
internal import LatchkeyStrategies
internal import Synchronization

/// The service as a process: from its start to the signal that ends it.
///
/// **Design.** The main thread blocks the signals that end the service before any other thread
/// exists, so that all threads inherit the mask, and then waits for the signals. No signal handler
/// runs. Threads of their own write standard output and the log, so that a slow reader delays
/// nothing.
package enum Service {
    /// How long the process waits at its end for the last lines to be written.
    private static let flushMilliseconds = 200

    /// Sent by the process to itself when the disk has failed.
    private static let failureSignal = SIGUSR2

    /// How often the files of tokens and certificates are checked.
    private static let fileInterval = DispatchTimeInterval.seconds(1)

    /// Serves until SIGTERM or SIGINT, then drains.
    ///
    /// SIGHUP rereads the files of tokens and certificates, and those with the addresses of etcd,
    /// and reopens the audit log. SIGUSR1 writes the state to the log.
    ///
    /// Call it on the main thread before there are other threads, so that they inherit its signal
    /// mask. Prints one line on standard output when the service is ready.
    ///
    /// A failed write or sync ends the service at once; a full disk does not.
    ///
    /// - Returns: The exit status: 0 after an end that was asked for, also if requests or answers
    ///   were cut off, which the log says; 3 if not all changes could be written because the disk
    ///   is full; 1 if a write or a sync has failed, or if the service could not start.
    package static func run(_ configuration: ServiceConfiguration) -> Int32 {
        var signals = EndingSignals.set(
            of: EndingSignals.ofServices + [SIGHUP, SIGUSR1, failureSignal]
        )
        // Blocked, and waited for below, so that no handler runs. The program has blocked them
        // already (CLatchkeyStart).
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let log = Log(format: configuration.logFormat, level: configuration.logLevel)
        let output = LineWriter(descriptor: 1)
        defer {
            output.flush(withinMilliseconds: flushMilliseconds)
            LineWriter.standardError.flush(withinMilliseconds: flushMilliseconds)
        }
        warn(of: configuration, log)
        if let reason = DescriptorLimit.raise(for: configuration) {
            log.write(.error, "cannot start", ["reason": reason])
            return 1
        }
        let recorder: TraceRecorder?
        do {
            recorder = try Self.recorder(configuration.recording, log)
        } catch {
            log.write(.error, "cannot start", ["reason": error.message])
            return 1
        }
        let instance: RunningService
        let failure = Failure()
        do {
            instance = try RunningService(configuration, recorder: recorder, failed: failure.note)
        } catch {
            recorder?.discard()
            guard error.isAsked else {
                log.write(.error, "cannot start", ["reason": error.reason])
                return 1
            }
            log.write(.info, "stopped", ["reason": error.reason])
            return 0
        }
        announce(configuration, port: instance.port, output, log)
        serve(instance, until: signals, failure, delay: configuration.shutdownDelay, log)
        // The answers to waiting requests are not known: do not wait for them.
        let drainTime = failure.isNoted ? .zero : configuration.drainTime
        log.write(.info, "draining", ["seconds": "\(drainTime.components.seconds)"])
        // The next signal has its default action: it ends the process at once.
        var endingSignals = EndingSignals.set(of: EndingSignals.ofServices)
        unsafe pthread_sigmask(SIG_UNBLOCK, &endingSignals, nil)
        let cutOff = instance.drain(within: drainTime)
        if let found = recorder?.finish() {
            log.write(
                .info,
                "recorded",
                ["operations": "\(found.recordedCount)", "lost": "\(found.lostCount)"]
            )
        }
        return status(of: cutOff, log)
    }

    /// The exit status, and the last line of the log.
    private static func status(of cutOff: Drained, _ log: Log) -> Int32 {
        guard cutOff.isWritten else {
            let reason = cutOff.isDiskFull ? "the disk is full" : "the disk has failed"
            log.write(.error, "stopped without writing all changes", ["reason": reason])
            return cutOff.isDiskFull ? 3 : 1
        }
        guard cutOff.requestCount == 0, cutOff.answerCount == 0 else {
            // The end was asked for, and its time chosen: systemd would treat another status as a
            // failure.
            log.write(
                .warning,
                "stopped before all was answered",
                [
                    "requestsCutOff": "\(cutOff.requestCount)",
                    "answersCutOff": "\(cutOff.answerCount)",
                    "advice": "a longer --drain-seconds lets them finish",
                ]
            )
            return 0
        }
        log.write(.info, "stopped")
        return 0
    }

    /// Whether the disk has failed, for the main thread, which waits for signals.
    private final class Failure: Sendable {
        private let noted = Atomic(false)

        var isNoted: Bool { noted.load(ordering: .acquiring) }

        /// Wakes the main thread.
        ///
        /// The signal stays blocked, so that it does not end the process.
        func note() {
            noted.store(true, ordering: .releasing)
            kill(getpid(), Service.failureSignal)
        }
    }

    /// Logs settings that may be a mistake.
    private static func warn(of configuration: ServiceConfiguration, _ log: Log) {
        for reason in configuration.startWarnings {
            log.write(.warning, "unknown variable", ["reason": reason])
        }
        let limits = configuration.changedLimits.map { "\($0.name)=\($0.value)" }
        if !limits.isEmpty {
            log.write(
                .warning,
                "limits are not the constants",
                [
                    ServiceConfiguration.limitsVariable: limits.joined(separator: ","),
                    "advice": "the variable is for tests: unset it to serve",
                ]
            )
        }
    }

    /// Waits for the signal that ends the service, and then for the delay or the next signal.
    ///
    /// Rereads files that have changed meanwhile.
    private static func serve(
        _ instance: RunningService,
        until signals: sigset_t,
        _ failure: Failure,
        delay: Duration,
        _ log: Log
    ) {
        // Not this thread: a hanging file system must not prevent the handling of SIGTERM.
        let queue = DispatchQueue(label: "latchkey.files")
        let timer = DispatchSource.makeTimerSource(queue: queue)
        if instance.readsFiles {
            timer.schedule(deadline: .now() + fileInterval, repeating: fileInterval)
            timer.setEventHandler { instance.reload(onlyIfChanged: true, log) }
        }
        timer.activate()
        defer { timer.cancel() }
        func act(_ signal: Int32) {
            queue.async {
                guard signal == SIGHUP else { return instance.writeState(to: log) }
                instance.reload(onlyIfChanged: false, log)
                instance.reloadCluster()
                instance.reopenAudit()
            }
        }
        awaitEnd(signals, until: nil, failure, act)
        guard delay > .zero, !failure.isNoted else { return }
        instance.announceEnd()
        log.write(.info, "ending", ["delaySeconds": "\(delay.components.seconds)"])
        awaitEnd(signals, until: ContinuousClock.now + delay, failure, act)
    }

    /// Waits for a signal that ends the service, or until a time, and acts on others.
    private static func awaitEnd(
        _ signals: sigset_t,
        until end: ContinuousClock.Instant?,
        _ failure: Failure,
        _ act: (Int32) -> Void
    ) {
        var signals = signals
        while true {
            let signal: Int32
            if let end {
                let left = max(Duration.zero, end - ContinuousClock.now).components
                var time = timespec(
                    tv_sec: Int(left.seconds),
                    tv_nsec: Int(left.attoseconds / 1_000_000_000)
                )
                signal = unsafe sigtimedwait(&signals, nil, &time)
                if signal < 0, errno == EAGAIN { return }
            } else {
                signal = unsafe sigwaitinfo(&signals, nil)
            }
            if EndingSignals.ofServices.contains(signal) || failure.isNoted { return }
            // Otherwise the wait was interrupted.
            if signal > 0, signal != failureSignal { act(signal) }
        }
    }

    /// Announces that the service is ready, with its address, and whether its state is kept.
    private static func announce(
        _ configuration: ServiceConfiguration,
        port: UInt16,
        _ output: LineWriter,
        _ log: Log
    ) {
        let address = configuration.http.host
        let host = address.contains(":") ? "[\(address)]" : address
        let scheme = configuration.tls.isOn ? "https" : "http"
        let announcement =
            "latchkey: listening on \(scheme)://\(host):\(port) "
            + "(strategy \(configuration.strategy.rawValue))\n"
        output.append(Array(announcement.utf8))
        log.write(.info, "serving", ["strategy": configuration.strategy.rawValue])
        if configuration.isInsecure {
            log.write(
                .warning,
                "everybody who can connect may do everything",
                ["advice": "--token-file FILE asks for tokens"]
            )
        }
        if configuration.persistence.path.isEmpty {
            log.write(
                .info,
                "data is in memory only",
                ["advice": "--data DIR keeps it when the process stops"]
            )
        }
    }

    private static func recorder(
        _ settings: RecordingSettings,
        _ log: Log
    ) throws(RecordingFailure) -> TraceRecorder? {
        settings.path.isEmpty ? nil : try TraceRecorder(settings, log: log)
    }
}
