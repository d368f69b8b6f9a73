internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeySettings

/// `latchkey lock`: runs a command while it holds a lock.
struct LockCommand: ClientCommand {
    let name = "lock"
    let operandCountMax = Int.max
    let ownFlags = [
        Flag(
            "wait",
            .times(0...31_536_000),
            default: "as long as it takes",
            hasEnvironment: false,
            "The time to wait for the lock; otherwise status 124. 0 tries once."
        ),
        LeaseFlags.ttl, LeaseFlags.holder,
    ]

    let introduction = """
        runs a command while it holds a lock

        Usage: latchkey lock NAME [--wait SECONDS] [--ttl SECONDS] -- COMMAND [ARG ...]

        The lock is the property NAME, with a time to live, which is renewed while the
        command runs, and removed when it has ended. The command has in its environment
        LATCHKEY_LOCK_NAME, and LATCHKEY_FENCING_TOKEN: a number that is greater for
        each holder, with which a resource can refuse an older one.

        \(LeaseFlags.promise)
        """
    let status = """
        Status: that of the command, 128 and the signal if one ended it, or
          2    the command line, a file or a setting cannot be used
          123  the lock was lost, and the command was ended
          124  the lock was not free within the time
          125  the service did not answer, or refused; with --wait, at most 2 seconds
               after it
          126  the command cannot be executed
          127  there is no such command
        """

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        let wait = values.isGiven("wait") ? values.duration("wait") : nil
        let session = try LeaseFlags.session(values, client, command: name)
        LeaseFlags.exiting { () throws(ClientFailure) in
            let limit = wait.map { UInt64($0 / .nanoseconds(1)) }
            return try session.run(within: limit, isPatient: false)
        }
    }
}

/// `latchkey elect`: runs a command while it is the leader.
struct ElectCommand: ClientCommand {
    let name = "elect"
    let operandCountMax = Int.max
    let ownFlags = [
        Flag.toggle("who", "Prints who is the leader now; status 3 if there is none."),
        Flag.toggle("json", "With --who, prints {\"name\":…,\"holder\":…}"),
        LeaseFlags.ttl, LeaseFlags.holder,
    ]

    let introduction = """
        runs a command while it is the leader of its name

        Usage: latchkey elect NAME [--ttl SECONDS] -- COMMAND [ARG ...]
               latchkey elect NAME --who [--json]

        As 'latchkey lock', but it begins again after the command has ended, or the
        leadership was lost, until a signal ends it. A service that does not answer is
        asked again and again.

        \(LeaseFlags.promise)
        """
    let status = """
        Status: that of the command after a signal, or as 'latchkey lock' has; --who:
          0    printed
          3    there is no leader
        """

    private let pauseNanoseconds: UInt64 = 1_000_000_000

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        if values.isOn("who") {
            let name = try operand(values, 0, "a name")
            let lease = LeaseClient(client, name: name, timeToLive: .zero, holder: "")
            guard let leader = try lease.leader() else {
                throw ClientFailure(.missing, "there is no leader of '\(name)'.")
            }
            guard values.isOn("json") else { return try ClientOutput.write(leader + "\n") }
            let members = [("name", name), ("holder", leader)]
            let object = JSONValue(object: members.map { ($0.0, JSONValue(string: $0.1)) })
            return try ClientOutput.write(line: object)
        }
        let session = try LeaseFlags.session(values, client, command: name)
        LeaseFlags.exiting { () throws(ClientFailure) in
            while true {
                let start = BootTime.now
                let outcome = try session.run(within: nil, isPatient: true)
                if case .notStarted = outcome { return outcome }
                guard session.endingSignal == nil else { return outcome }
                // A command that ends at once must not become a load on the service.
                guard session.pauses(until: start + pauseNanoseconds) else {
                    return session.endingSignal.map { .interrupted($0) } ?? outcome
                }
            }
        }
    }
}

/// The common parts of `latchkey lock` and `latchkey elect`.
enum LeaseFlags {
    private enum Status {
        static let lost: Int32 = 123
        static let timedOut: Int32 = 124
        static let failed: Int32 = 125
        static let notExecutable: Int32 = 126
        static let notFound: Int32 = 127
        /// Before a signal's number.
        static let signal: Int32 = 128
    }

    static let ttl = Flag(
        "ttl",
        .times(1...86_400),
        default: "15",
        hasEnvironment: false,
        "The time after which the service frees the lock of a holder that is silent. It is "
            + "renewed after a third of it."
    )
    static let holder = Flag(
        "holder",
        .text(placeholder: "TEXT"),
        default: "HOST:PID",
        hasEnvironment: false,
        "The holder's name, for readers of the property."
    )

    static let promise = """
        The command, with all that it starts in its process group, has ended before
        another one can have the lock: if the lock cannot be renewed, it gets SIGTERM
        after two thirds of the time to live, and SIGKILL before the last tenth; if
        latchkey itself is killed, SIGKILL at once. Signals to latchkey are passed on.
        A command in the foreground has the terminal, unless latchkey is part of a
        pipe: then its standard input is the pipe, or /dev/null in place of the
        terminal. A command that is stopped (Ctrl-Z) is ended, and the lock with it.
        """

    static func session(
        _ values: FlagValues,
        _ client: Client,
        command: String
    ) throws(ClientFailure) -> LeaseSession {
        guard values.operands.count > 1 else {
            throw ClientFailure(.usage, "'latchkey \(command)' needs a name, -- and a command.")
        }
        let name = values.operands[0]
        let holder = values.given("holder") ?? "\(ProcessInfo.processInfo.hostName):\(getpid())"
        let lease = LeaseClient(
            client,
            name: name,
            timeToLive: values.duration("ttl"),
            holder: holder
        )
        let variables = ProcessInfo.processInfo.environment
        return LeaseSession(
            lease,
            command: Array(values.operands.dropFirst()),
            environment: { token in
                variables.merging([
                    EnvironmentVariables.lockName: name,
                    EnvironmentVariables.fencingToken: "\(token)",
                ]) { $1 }
            },
            signals: WaitedSignals(),
            complain: complain
        )
    }

    /// Ends the program with the status of an outcome.
    static func exiting(_ body: () throws(ClientFailure) -> LeaseSession.Outcome) -> Never {
        do throws(ClientFailure) {
            exit(status(try body()))
        } catch {
            complain(error.message)
            exit(Status.failed)
        }
    }

    private static func status(_ outcome: LeaseSession.Outcome) -> Int32 {
        switch outcome {
        case .ended(let status): return status
        case .lost: return Status.lost
        case .interrupted(let signal): return Status.signal + signal
        case .timedOut:
            complain("the lock was not free within the time.")
            return Status.timedOut
        case .notStarted(let number, let reason):
            complain("the command cannot be started: \(reason).")
            return number == ENOENT ? Status.notFound : Status.notExecutable
        }
    }
}
