internal import Glibc
package import LatchkeySettings

/// Command-line flags: their table, their help text and their values.
///
/// The rules: long names only, except `-h`; `--flag value` and `--flag=value`; no flag twice,
/// except those that say so; a flag that is not given has the value of the environment variable
/// `LATCHKEY_FLAG`, except those that say so, or else the default; every value is checked against
/// its bounds; each error is a sentence, with the name that was probably meant. Where a command
/// takes operands, `-` and negative numbers are operands, and so is everything after `--`.
package struct Flag {
    package typealias Value = SettingValues

    package let name: String
    package let value: Value
    package let defaultText: String
    package let help: String
    /// Whether it can be given several times.
    ///
    /// Then its text has all values, with `separator` between.
    package let isRepeatable: Bool
    /// Whether the environment can have the value.
    ///
    /// False for flags of one call of a command, which no variable should change.
    package let hasEnvironment: Bool
    /// A comma for the flag of a setting, else a space.
    private(set) var separator = " "

    package init(
        _ name: String,
        _ value: Value,
        default defaultText: String,
        isRepeatable: Bool = false,
        hasEnvironment: Bool = true,
        _ help: String
    ) {
        self.name = name
        self.hasEnvironment = hasEnvironment
        self.isRepeatable = isRepeatable
        self.value = value
        self.defaultText = defaultText
        self.help = help
    }

    /// A flag that one call of a command has or has not.
    package static func toggle(_ name: String, _ help: String) -> Self {
        Self(name, .toggle, default: "false", hasEnvironment: false, help)
    }

    /// The flag of a setting.
    package init(_ setting: Setting<some Configurable>) {
        self.init(
            setting.name,
            setting.values,
            default: setting.defaultText,
            isRepeatable: setting.isRepeatable,
            setting.help
        )
        separator = ","
    }

    package var environmentName: String { Self.environmentName(name) }

    fileprivate static func environmentName(_ name: String) -> String {
        "LATCHKEY_" + name.uppercased().split(separator: "-").joined(separator: "_")
    }

    /// The flag's paragraph of the manual, for 80 columns: the help, the bounds and the default.
    package var manual: String { paragraph(help, value.bounds) }

    /// The same with the first sentence of the help, the choices, and the default only.
    package var shortManual: String {
        if case .choice = value { return paragraph(help.firstSentence, value.bounds) }
        return paragraph(help.firstSentence, "")
    }

    private func paragraph(_ help: String, _ bounds: String) -> String {
        let placeholder = value.placeholder.isEmpty ? "" : " \(value.placeholder)"
        let text =
            help + (bounds.isEmpty ? "" : " \(bounds.capitalizedFirst).")
            + (defaultText.isEmpty ? "" : " Default: \(defaultText).")
        return "  --\(name)\(placeholder)\n" + TextLines.wrapped(text, indent: 6, width: 80) + "\n"
    }

    /// Checks a value against the flag's bounds, and returns it without its unit.
    func check(_ text: String, source: String) throws(UsageError) -> String {
        do {
            return try value.check(text)
        } catch {
            throw UsageError("\(source) \(error.message)")
        }
    }
}

extension String {
    /// With a capital first letter.
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// A flag that an earlier version had.
///
/// If it is given, on the command line or in the environment, a message names its replacement.
package struct RemovedFlag: Sendable {
    package let name: String
    private let version: String
    private let instead: String
    private let newName: String?

    /// - Parameters:
    ///   - name: The name.
    ///   - version: The first version without it.
    ///   - instead: The replacement, in a sentence without a capital letter.
    package init(_ name: String, in version: String, _ instead: String) {
        self.name = name
        self.version = version
        self.instead = instead
        newName = nil
    }

    /// A flag that has another name.
    package init(_ name: String, in version: String, renamed newName: String) {
        self.name = name
        self.version = version
        self.newName = newName
        instead = ""
    }

    package var environmentName: String { Flag.environmentName(name) }

    fileprivate func error(_ source: String) -> UsageError {
        guard let newName else {
            return UsageError("\(source) was removed in \(version): \(instead)")
        }
        let isFlag = source.hasPrefix("--")
        let new = isFlag ? "--\(newName)" : Flag.environmentName(newName)
        return UsageError("\(source) was renamed in \(version): use \(new).")
    }
}

/// The values of a command's flags.
package struct FlagValues {
    private let values: [String: String]
    /// The values of the command line, one by one.
    private let lists: [String: [String]]
    private let given: Set<String>
    private let fromEnvironment: Set<String>
    /// The arguments that are no flags, where the command takes some.
    package let operands: [String]

    /// Reads the arguments after the command's name, such as `latchkey compare`, and the
    /// environment for the other flags.
    package init(
        _ flags: [Flag],
        removed: [RemovedFlag] = [],
        command: String,
        operandCountMax: Int = 0,
        arguments: some Sequence<String>,
        environment: (String) -> String? = Self.processEnvironment
    ) throws(UsageError) {
        try self.init(
            flags,
            removed: removed,
            command: command,
            operandCountMax: operandCountMax,
            arguments: arguments,
            environment: environment
        ) { error throws(UsageError) in
            throw error
        }
    }

    /// The same, but goes on after each error that `report` does not throw again: a flag with a
    /// wrong value then has its default.
    package init(
        _ flags: [Flag],
        removed: [RemovedFlag] = [],
        command: String,
        operandCountMax: Int = 0,
        arguments: some Sequence<String>,
        environment: (String) -> String? = Self.processEnvironment,
        report: (UsageError) throws(UsageError) -> Void
    ) throws(UsageError) {
        var lists: [String: [String]] = [:]
        var operands: [String] = []
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if argument == "--", operandCountMax > 0 {
                operands += rest
                break
            }
            if operands.count < operandCountMax, Self.isOperand(argument) {
                operands.append(argument)
                continue
            }
            do throws(UsageError) {
                try Self.read(argument, &rest, flags, removed, command, into: &lists)
            } catch {
                try report(error)
            }
        }
        if operands.count > operandCountMax {
            try report(Self.unexpected(operands[operandCountMax], flags, command))
        }
        self.operands = operands
        self.lists = lists
        var values: [String: String] = [:]
        for flag in flags {
            values[flag.name] = lists[flag.name]?.joined(separator: flag.separator)
        }
        var fromEnvironment: Set<String> = []
        for flag in flags where flag.hasEnvironment && values[flag.name] == nil {
            let name = flag.environmentName
            if let text = environment(name),
                !EnvironmentVariables.isServiceLink(name, text)
            {
                do throws(UsageError) {
                    values[flag.name] = try flag.check(text, source: name)
                    fromEnvironment.insert(flag.name)
                } catch {
                    try report(error)
                }
            }
        }
        for flag in removed where !flags.contains(where: { $0.name == flag.name }) {
            let name = flag.environmentName
            if let text = environment(name), !EnvironmentVariables.isServiceLink(name, text) {
                try report(flag.error(name))
            }
        }
        given = Set(values.keys)
        self.fromEnvironment = fromEnvironment
        for flag in flags where values[flag.name] == nil {
            values[flag.name] = flag.defaultText
        }
        self.values = values
    }

    private static func isOperand(_ argument: String) -> Bool {
        guard argument.hasPrefix("-") else { return true }
        return argument.dropFirst().first.map(\.isNumber) ?? true
    }

    /// Reads a flag, and its value from the arguments after it.
    private static func read(
        _ argument: String,
        _ rest: inout ArraySlice<String>,
        _ flags: [Flag],
        _ removed: [RemovedFlag],
        _ command: String,
        into lists: inout [String: [String]]
    ) throws(UsageError) {
        let parts = argument.dropFirst(2).split(
            separator: "=",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        guard argument.hasPrefix("--"),
            let flag = flags.first(where: { $0.name == parts[0] })
        else {
            // Else its value would be another error.
            if parts.count == 1, rest.first?.hasPrefix("-") == false { rest.removeFirst() }
            if argument.hasPrefix("--"), let flag = removed.first(where: { $0.name == parts[0] }) {
                throw flag.error("--\(flag.name)")
            }
            throw unexpected(argument, flags, command)
        }
        let text: String
        if parts.count == 2 {
            text = String(parts[1])
        } else if case .toggle = flag.value {
            text = "true"
        } else if let next = rest.popFirst() {
            text = next
        } else {
            throw UsageError("--\(flag.name) needs a value.")
        }
        guard lists[flag.name] == nil || flag.isRepeatable else {
            throw UsageError("--\(flag.name) is given twice.")
        }
        lists[flag.name, default: []].append(try flag.check(text, source: "--\(flag.name)"))
    }

    /// The error for an argument that is none of the flags, with the flag that was probably meant.
    private static func unexpected(
        _ argument: String,
        _ flags: [Flag],
        _ command: String
    ) -> UsageError {
        let name = argument.prefix { $0 != "=" }
        let nearest =
            argument.hasPrefix("-")
            ? Suggestion.nearest(to: String(name.drop { $0 == "-" }), among: flags.map(\.name))
            : nil
        let suggestion = nearest.map { " Did you mean '--\($0)'?" } ?? ""
        return UsageError(
            argument.hasPrefix("--")
                ? "unknown flag '\(name)' of '\(command)'.\(suggestion)"
                : "'\(command)' takes flags, not '\(argument)'.\(suggestion)"
        )
    }

    package static func processEnvironment(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }

    /// Gives an owner the values that are given; the others keep their defaults.
    package func set<Owner: Configurable>(
        in owner: inout Owner,
        _ settings: [Setting<Owner>] = Owner.settings
    ) throws(UsageError) {
        for setting in settings where isGiven(setting.name) {
            do {
                try setting.set(text(setting.name), in: &owner)
            } catch {
                throw UsageError("\(source(Flag(setting))) \(error.message)")
            }
        }
    }

    /// Whether the value comes from the command line or the environment.
    package func isGiven(_ name: String) -> Bool {
        given.contains(name)
    }

    /// The origin of the value, for messages: the flag, or the environment variable.
    package func source(_ flag: Flag) -> String {
        fromEnvironment.contains(flag.name) ? flag.environmentName : "--\(flag.name)"
    }

    package func text(_ name: String) -> String {
        guard let text = values[name] else {
            preconditionFailure("--\(name) is not in the command's table")
        }
        return text
    }

    /// The values of a flag that can be given several times, from the command line.
    package func list(_ name: String) -> [String] { lists[name] ?? [] }

    package func integer(_ name: String) -> Int {
        guard let number = Int(text(name)) else {
            preconditionFailure("--\(name) is not in the command's table as an integer")
        }
        return number
    }

    package func isOn(_ name: String) -> Bool {
        text(name) == "true"
    }

    package func choice<Choice: RawRepresentable<String>>(_ name: String) -> Choice {
        guard let choice = Choice(rawValue: text(name)) else {
            preconditionFailure("--\(name) is not in the command's table with these choices")
        }
        return choice
    }
}

/// An error in a command line, in one sentence.
///
/// It ends the program with status 2.
package struct UsageError: Error {
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
