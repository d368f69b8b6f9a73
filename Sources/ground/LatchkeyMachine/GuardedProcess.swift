internal import CLatchkeyMachine
internal import CLatchkeySystem
internal import Glibc

/// A command that ends by a time, whatever happens to this process.
///
/// The command has a process group of its own. A second process, the guard, kills this group when
/// the time is over, and as soon as this process ends: even if it is killed, or stopped.
///
/// The command gets the terminal, as from a shell, if this process has it and is not part of a
/// pipe. Then the keys that send signals, such as Ctrl-C, reach the command only. As part of a pipe
/// the command reads nothing from the terminal: its standard input is `/dev/null` then.
///
/// **Design.** The thread that starts it must live as long, because the command is killed with it.
/// The command stays a zombie until ``end()``, so its identifier, which is that of the group, is
/// not used again before.
package final class GuardedProcess {
    /// The number of the system's error.
    package struct StartFailure: Error, Equatable {
        package let number: Int32

        /// As the system says it.
        package var reason: String {
            unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        }
    }

    private let identifier: pid_t
    private let guardIdentifier: pid_t
    private let control: Int32
    private let terminal: Int32
    private var status: Int32?

    /// Starts a command.
    ///
    /// - Parameters:
    ///   - arguments: The program, which is looked for as a shell does, and its arguments.
    ///   - environment: All variables.
    ///   - deadline: When the command is killed, as ``BootTime`` counts.
    /// - Throws: Why it cannot be executed.
    package init(
        _ arguments: [String],
        environment: [String: String],
        deadline: UInt64
    ) throws(StartFailure) {
        let (arguments, environment) = (CTexts(arguments), CTexts(environment: environment))
        defer { withExtendedLifetime((arguments, environment)) {} }
        var (identifier, guardIdentifier): (pid_t, pid_t) = (0, 0)
        var (control, terminal): (Int32, Int32) = (-1, -1)
        let error = unsafe latchkey_machine_guarded_start(
            arguments.list,
            environment.list,
            deadline,
            &identifier,
            &guardIdentifier,
            &control,
            &terminal
        )
        guard error == 0 else { throw StartFailure(number: error) }
        (self.identifier, self.guardIdentifier) = (identifier, guardIdentifier)
        (self.control, self.terminal) = (control, terminal)
    }

    deinit {
        _ = end()
    }

    /// Whether the command has ended, though not all that it started.
    package var hasEnded: Bool {
        status != nil || latchkey_machine_child_has_ended(identifier)
    }

    /// Whether the command has the terminal, or had it until it ended.
    package var hasTerminal: Bool { terminal >= 0 }

    /// The signal that has stopped the command since the last call; nil if none has.
    package func takeStop() -> Int32? {
        let number = status == nil ? latchkey_machine_child_stop(identifier) : 0
        return number == 0 ? nil : number
    }

    /// Sends a signal to the command and its group.
    ///
    /// Stopped processes are continued, because only then do they notice it.
    package func signal(_ number: Int32) {
        guard status == nil else { return }
        kill(-identifier, number)
        kill(-identifier, SIGCONT)
    }

    /// As ``Orphans/reap()``, except for the command and the guard.
    package func reapOrphans() {
        Orphans.reap(but: identifier, guardIdentifier)
    }

    /// Gives the command more time.
    package func extend(to deadline: UInt64) {
        var deadline = deadline
        // If there is no guard any more, the group is killed: nothing more to do.
        _ = unsafe write(control, &deadline, MemoryLayout<UInt64>.size)
    }

    /// Kills what is left of the group, and returns the status of the command: 128 and the signal
    /// if one ended it.
    package func end() -> Int32 {
        if let status { return status }
        kill(-identifier, SIGKILL)
        close(control)
        _ = latchkey_machine_child_wait(guardIdentifier)
        latchkey_machine_terminal_take_back(terminal, identifier)
        let found = latchkey_machine_child_wait(identifier)
        status = found
        return found
    }
}

/// Processes whose parents have ended, if this one is the first of a container: the system makes
/// them its children.
package enum Orphans {
    /// Reaps those that have ended; otherwise they stay as zombies.
    package static func reap() {
        reap(but: 0, 0)
    }

    fileprivate static func reap(but kept: pid_t, _ alsoKept: pid_t) {
        if getpid() == 1 { latchkey_machine_child_reap(kept, alsoKept) }
    }

    /// Lets the system reap them, for a program that starts no others.
    package static func reapAlways() {
        if getpid() == 1 { signal(SIGCHLD, SIG_IGN) }
    }
}

/// A clock that also counts while the machine is suspended.
package enum BootTime {
    /// Nanoseconds since the machine started.
    package static var now: UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
