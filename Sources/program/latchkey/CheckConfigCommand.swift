internal import Foundation
internal import LatchkeyCommandLine
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey check-config`: the faults that would keep the service from starting.
enum CheckConfigCommand {
    private static let running = Flag(
        "running",
        .toggle,
        default: "false",
        "A service with these settings may run now: its port and its data folder can be in use."
    )

    static let flags = ServeCommand.flags + [running]

    static let manual = """
        latchkey check-config: says what would keep 'latchkey serve' from starting

        Usage: latchkey check-config [--running] [--flag value | --flag=value ...]

        Takes the flags and the environment of 'latchkey serve', and checks what a start
        checks: the values, tokens, certificates, the data folder, the files that are
        written, the ports and the limit of file descriptors. It starts nothing and
        changes nothing.

        Prints OK and the settings that are not the defaults, or a sentence for each
        fault. A note says what is allowed, and perhaps not meant.

        Examples:
          latchkey check-config --port 9090 --data /var/lib/latchkey
          latchkey check-config --running && systemctl restart latchkey

        Status:
          0    the service would start
          2    it would not: the sentences say why


        """ + running.manual

    static func run(_ arguments: [String]) throws(UsageError) {
        var faults: [String] = []
        let values = try FlagValues(
            flags,
            removed: ServeCommand.removed,
            command: "latchkey check-config",
            arguments: arguments
        ) {
            faults.append($0.message)
        }
        var configuration = try ServeCommand.configuration(values)
        do {
            try ServeCommand.setLimits(ServeCommand.limitsOfEnvironment(), in: &configuration)
        } catch {
            faults.append(error.message)
        }
        configuration.startWarnings = Latchkey.unknownVariables
        faults += ServeCommand.mistakes(in: configuration, values).map(\.message)
        let check = StartCheck(configuration, isRunning: values.isOn(running.name))
        faults += check.faults
        for note in check.notes { say("note: \(note)\n", to: 2) }
        for fault in faults { complain(fault) }
        guard faults.isEmpty else { exit(2) }
        let settings = configuration.changedSettings
        let lines =
            settings.map { setting in
                let flag = flags.first { $0.name == setting.name }
                let origin = flag.map { values.source($0) } ?? ""
                let variable = origin.hasPrefix("--") ? "" : "  (\(origin))"
                return "  --\(setting.name) \(setting.value)\(variable)\n"
            }
            + configuration.changedLimits.map { limit in
                "  \(limit.name)=\(limit.value)  (\(ServiceConfiguration.limitsVariable))\n"
            }
        say("OK" + (lines.isEmpty ? ", with all defaults\n" : "\n" + lines.joined()))
    }
}
