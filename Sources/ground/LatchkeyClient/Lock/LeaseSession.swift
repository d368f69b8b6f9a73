internal import Glibc
package import LatchkeyMachine

/// Runs a command while a lease is held.
///
/// **Design.** Everything happens on the thread that calls ``run(within:isPatient:)``: it waits for
/// signals, and while a request runs it looks for them every 50 milliseconds. The guard
/// (``GuardedProcess``) ends the command before the lease ends, even if this thread does not run.
package final class LeaseSession {
    package enum Outcome: Equatable, Sendable {
        /// The command ended while the lease was held, with this status.
        case ended(Int32)
        /// The lease was lost, and the command was ended.
        case lost
        /// The lease was not free within the time.
        case timedOut
        /// A signal came before the lease was got.
        case interrupted(Int32)
        /// The command could not be started, with the number of the error and its sentence.
        case notStarted(Int32, String)
    }

    /// The longest pause before a renewal that failed is tried again.
    private static let pauseNanoseconds: UInt64 = 100_000_000
    /// The time for the command to end when another one may already have the lease.
    private static let graceNanoseconds: UInt64 = 1_000_000_000
    /// The longest time between two looks at the command.
    private static let lookNanoseconds: UInt64 = 1_000_000_000

    private let client: LeaseClient
    private let command: [String]
    /// The variables of the command, with the fencing token.
    private let environment: (UInt64) -> [String: String]
    private let signals: WaitedSignals
    private let complain: (String) -> Void

    /// The signal that asked this program to end.
    package private(set) var endingSignal: Int32?

    package init(
        _ client: LeaseClient,
        command: [String],
        environment: @escaping (UInt64) -> [String: String],
        signals: WaitedSignals,
        complain: @escaping (String) -> Void
    ) {
        self.client = client
        self.command = command
        self.environment = environment
        self.signals = signals
        self.complain = complain
    }

    /// Gets the lease, runs the command, and gives the lease back.
    ///
    /// - Parameters:
    ///   - wait: How long to wait for the lease, in nanoseconds; nil for as long as it takes.
    ///   - isPatient: Whether a service that does not answer is asked again and again.
    /// - Returns: How it ended.
    /// - Throws: Why the service refused, or did not answer.
    package func run(within wait: UInt64?, isPatient: Bool) throws(ClientFailure) -> Outcome {
        let acquisition = LeaseAcquisition(
            client,
            isPatient: isPatient,
            complain: complain,
            isAskedToEnd: isAskedToEnd,
            // Another signal asks this program to end faster.
            isHurried: { self.signals.next().map { WaitedSignals.ending.contains($0) } ?? false }
        )
        guard let lease = try acquisition.run(within: wait) else {
            return endingSignal.map { .interrupted($0) } ?? .timedOut
        }
        return hold(lease)
    }

    /// Waits until a time; false if this program is asked to end.
    package func pauses(until end: UInt64) -> Bool {
        while BootTime.now < end, endingSignal == nil {
            note(signals.next(until: end))
            Orphans.reap()
        }
        return endingSignal == nil
    }

    private func isAskedToEnd() -> Bool {
        note(signals.next())
        Orphans.reap()
        return endingSignal != nil
    }

    private func note(_ signal: Int32?) {
        if let signal, WaitedSignals.ending.contains(signal) { endingSignal = signal }
    }

    private func hold(_ lease: Lease) -> Outcome {
        let process: GuardedProcess
        do {
            process = try GuardedProcess(
                command,
                environment: environment(lease.revision),
                deadline: lease.times.end
            )
        } catch {
            _ = client.release(lease)
            return .notStarted(error.number, error.reason)
        }
        var holding = Holding(lease: lease)
        while !process.hasEnded {
            pass(signals.next(until: holding.due(BootTime.now, Self.lookNanoseconds)), to: process)
            process.reapOrphans()
            if let number = process.takeStop() { stopped(by: number, &holding, process) }
            let now = BootTime.now
            if holding.isRenewalDue(now) {
                renew(&holding, process)
            } else if !holding.isOver, now >= holding.lease.times.warning {
                complain("the lock '\(client.name)' could not be renewed in time.")
                holding.isLost = true
                process.signal(SIGTERM)
            }
        }
        // This process may have been stopped: then the guard has ended the command.
        if BootTime.now >= holding.lease.times.end { holding.isLost = true }
        let status = process.end()
        if process.hasTerminal { passBack(status) }
        if !holding.isGone, let failure = client.release(holding.lease) {
            complain("the lock '\(client.name)' ends with its time: \(failure.message)")
        }
        return holding.isLost ? .lost : .ended(status)
    }

    private func pass(_ signal: Int32?, to process: GuardedProcess) {
        note(signal)
        if let signal { process.signal(signal) }
    }

    /// A key of the terminal has ended the command: without the lock, a process that waits for this
    /// program, such as a script, would have got the signal.
    private func passBack(_ status: Int32) {
        guard endingSignal == nil,
            let key = [SIGINT, SIGQUIT].first(where: { status == 128 + $0 })
        else { return }
        endingSignal = key
        kill(0, key)
    }

    /// A command that is stopped does not hold the lock: it may never go on.
    private func stopped(
        by number: Int32,
        _ holding: inout Holding,
        _ process: GuardedProcess
    ) {
        guard !holding.isOver else { return }
        let needsTerminal = [SIGTTIN, SIGTTOU].contains(number)
        complain(
            "the command was stopped (signal \(number)), so the lock '\(client.name)' ends."
                + (needsTerminal
                    ? " It can use the terminal only in the foreground, and without a pipe." : "")
        )
        holding.isStopped = true
        end(within: Self.graceNanoseconds, holding, process)
    }

    private func end(
        within nanoseconds: UInt64,
        _ holding: Holding,
        _ process: GuardedProcess
    ) {
        process.extend(to: min(holding.lease.times.end, BootTime.now + nanoseconds))
        process.signal(SIGTERM)
    }

    private func renew(_ holding: inout Holding, _ process: GuardedProcess) {
        let warning = holding.lease.times.warning
        let renewal = client.renew(holding.lease) {
            self.pass(self.signals.next(), to: process)
            return process.hasEnded || BootTime.now >= warning
        }
        switch renewal {
        case .renewed(let times):
            holding.lease.times = times
            holding.retry = 0
            process.extend(to: times.end)
        case .unanswered:
            holding.retry =
                BootTime.now + min(Self.pauseNanoseconds, holding.lease.times.timeToLive / 24)
        case .lost:
            complain("the lock '\(client.name)' was taken away.")
            (holding.isLost, holding.isGone) = (true, true)
            end(within: Self.graceNanoseconds, holding, process)
        }
    }

    /// A lease while its command runs.
    private struct Holding {
        var lease: Lease
        /// Whether the command has been asked to end, because of the lease.
        var isLost = false
        /// Whether the service said so.
        var isGone = false
        /// Whether the command was stopped, and is being ended.
        var isStopped = false
        /// When a renewal that failed is tried again.
        var retry: UInt64 = 0

        /// Whether the lease is not renewed any more.
        var isOver: Bool { isLost || isStopped }

        func isRenewalDue(_ now: UInt64) -> Bool {
            !isOver && now >= max(lease.times.renewal, retry) && now < lease.times.warning
        }

        /// When the next action or look at the command is due.
        func due(_ now: UInt64, _ longest: UInt64) -> UInt64 {
            isOver ? now + longest : min(now + longest, max(lease.times.renewal, retry))
        }
    }
}
