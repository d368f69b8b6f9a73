internal import Glibc

/// Command-line flags: their table, their help text and their values.
///
/// The rules: long names only; `--flag value` and `--flag=value`; no flag twice; a value that is
/// not given comes from the environment variable `LATCHKEY_FLAG`, then from the default; every
/// value is checked against its bounds; what is wrong is said in one sentence.
struct Flag {
    /// What a flag's value can be.
    enum Value {
        case text(placeholder: String)
        case integer(ClosedRange<Int>)
        case choice([String])
        /// Needs no value: `--flag` means `--flag=true`.
        case toggle
        /// Values separated by commas, at least one and none twice.
        case list(Element)
    }

    /// What one value of a list can be.
    enum Element {
        /// Whole numbers in ascending order. `1..8` stands for 1, 2, 4 and 8.
        case integer(ClosedRange<Int>)
        /// Numbers in ascending order.
        case decimal(ClosedRange<Double>)
        case choice([String])
        /// Values with a spelling of their own, which `help` describes and `isRight` knows.
        case spelling(placeholder: String, help: String, isRight: @Sendable (String) -> Bool)
    }

    let name: String
    let value: Value
    let defaultText: String
    let help: String

    init(_ name: String, _ value: Value, default defaultText: String, _ help: String) {
        self.name = name
        self.value = value
        self.defaultText = defaultText
        self.help = help
    }

    var environmentName: String {
        "LATCHKEY_" + name.uppercased().split(separator: "-").joined(separator: "_")
    }

    private var placeholder: String {
        switch value {
        case .text(let placeholder): " \(placeholder)"
        case .integer: " N"
        case .choice: " NAME"
        case .toggle: ""
        case .list(.integer): " N,N,..."
        case .list(.decimal): " X,X,..."
        case .list(.choice): " NAME,NAME,..."
        case .list(.spelling(let placeholder, _, _)): " \(placeholder),..."
        }
    }

    private var bounds: String {
        switch value {
        case .integer(let range): " From \(range.lowerBound) to \(range.upperBound)."
        case .choice(let names) where names.count <= 4:
            " One of \(names.joined(separator: ", "))."
        case .list(.integer(let range)):
            " From \(range.lowerBound) to \(range.upperBound); 1..8 is 1,2,4,8."
        case .list(.decimal(let range)): " From \(range.lowerBound) to \(range.upperBound)."
        case .choice, .text, .toggle, .list: ""
        }
    }

    /// The flag's paragraph of the manual.
    var manual: String {
        let sentence = defaultText.isEmpty ? "" : " Default: \(defaultText)."
        return "  --\(name)\(placeholder)\n"
            + wrap(help + bounds + sentence, indent: 6, width: 80)
    }

    /// Checks a value against the flag's bounds.
    func check(_ text: String, source: String) throws(UsageError) {
        switch value {
        case .text:
            guard !text.isEmpty else {
                throw UsageError("\(source) needs a value.")
            }
        case .integer(let range):
            guard let number = Int(text), range.contains(number) else {
                throw UsageError(
                    "\(source) takes a whole number from \(range.lowerBound) to "
                        + "\(range.upperBound), not '\(text)'."
                )
            }
        case .choice(let names):
            guard names.contains(text) else {
                throw UsageError(
                    "\(source) takes one of \(names.joined(separator: ", ")), not '\(text)'."
                )
            }
        case .toggle:
            guard text == "true" || text == "false" else {
                throw UsageError("\(source) takes true or false, not '\(text)'.")
            }
        case .list(let element):
            _ = try FlagList.values(text, element, source: source)
        }
    }
}

/// The values of a command's flags.
struct FlagValues {
    private let values: [String: String]
    private let given: Set<String>
    private let fromEnvironment: Set<String>

    /// Reads what follows the command's name, and the environment for what is not there.
    init(
        _ flags: [Flag],
        command: String,
        arguments: some Sequence<String>,
        environment: (String) -> String? = { name in
            unsafe getenv(name).map { unsafe String(cString: $0) }
        }
    ) throws(UsageError) {
        var values: [String: String] = [:]
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            guard argument.hasPrefix("--") else {
                throw UsageError("'\(argument)' is no flag of 'latchkey \(command)'.")
            }
            let parts = argument.dropFirst(2).split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            guard let flag = flags.first(where: { $0.name == parts[0] }) else {
                throw UsageError("'--\(parts[0])' is no flag of 'latchkey \(command)'.")
            }
            guard values[flag.name] == nil else {
                throw UsageError("--\(flag.name) is given twice.")
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
            try flag.check(text, source: "--\(flag.name)")
            values[flag.name] = text
        }
        var fromEnvironment: Set<String> = []
        for flag in flags where values[flag.name] == nil {
            if let text = environment(flag.environmentName) {
                try flag.check(text, source: flag.environmentName)
                values[flag.name] = text
                fromEnvironment.insert(flag.name)
            }
        }
        given = Set(values.keys)
        self.fromEnvironment = fromEnvironment
        for flag in flags where values[flag.name] == nil {
            values[flag.name] = flag.defaultText
        }
        self.values = values
    }

    /// Whether the value comes from the command line or the environment.
    func isGiven(_ name: String) -> Bool {
        given.contains(name)
    }

    /// What gave the value, as a message names it: the flag, or the environment variable.
    func source(_ flag: Flag) -> String {
        fromEnvironment.contains(flag.name) ? flag.environmentName : "--\(flag.name)"
    }

    func text(_ name: String) -> String {
        guard let text = values[name] else {
            preconditionFailure("--\(name) is not in the command's table")
        }
        return text
    }

    func integer(_ name: String) -> Int {
        guard let number = Int(text(name)) else {
            preconditionFailure("--\(name) is not in the command's table as an integer")
        }
        return number
    }

    func isOn(_ name: String) -> Bool {
        text(name) == "true"
    }

    func choice<Choice: RawRepresentable<String>>(_ name: String) -> Choice {
        guard let choice = Choice(rawValue: text(name)) else {
            preconditionFailure("--\(name) is not in the command's table with these choices")
        }
        return choice
    }
}

/// What is wrong with a command line, in a sentence.
///
/// Ends the program with status 2.
struct UsageError: Error {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}

/// Breaks text into lines of at most `width` columns, each indented.
func wrap(_ text: String, indent: Int, width: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    var lines: [String] = []
    var line = margin
    for word in text.split(separator: " ") {
        if line.count > indent, line.count + 1 + word.count > width {
            lines.append(line)
            line = margin
        }
        line += (line.count > indent ? " " : "") + word
    }
    lines.append(line)
    return lines.joined(separator: "\n") + "\n"
}
