internal import LatchkeySettings

/// The possible words at the end of a command line, for the scripts of shells.
package struct Completion {
    private let commands: [Command]

    /// - Parameter commands: All commands except `help`.
    package init(commands: [Command]) {
        let help = Command(
            name: "help",
            manual: "latchkey help: prints the help of a command",
            flags: [],
            operands: [.choice(commands.map(\.name))],
            run: { _ in }
        )
        self.commands = commands + [help]
    }

    /// The offer of a shell.
    package enum Offer: Equatable {
        /// Whole words, and what each means.
        case words([Word])
        /// As `words`, and another one can follow after a comma.
        case list([Word])
        case files
        case folders
        /// The command line of another program begins.
        case programs
    }

    package struct Word: Equatable {
        let text: String
        let meaning: String
    }

    /// The possible words in the place of the last one.
    ///
    /// - Parameter line: The words after the program's name. For bash, `=` is one of its own.
    /// - Returns: The offer; the shell leaves out words that do not begin like the last one.
    package func offer(_ line: [String]) -> Offer {
        var words = line[...]
        var word = words.popLast() ?? ""
        guard let name = words.popFirst() else {
            return .words(
                commands.map { Word(text: $0.name, meaning: $0.summary) } + [
                    Word(text: "--help", meaning: "print the help"),
                    Word(text: "--version", meaning: "print the version"),
                ]
            )
        }
        if words.contains("--") { return .programs }
        guard let command = commands.first(where: { $0.name == name }) else { return .words([]) }
        func flag(_ word: String?) -> Flag? {
            command.flags.first { "--\($0.name)" == word && !$0.value.isToggle }
        }
        if word == "=" { word = "" } else if words.last == "=" { words.removeLast() }
        if let flag = flag(words.last) { return offer(flag.value, word, "") }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, let flag = flag(String(parts[0])) {
            return offer(flag.value, String(parts[1]), "\(parts[0])=")
        }
        var position = 0
        while let before = words.popFirst() {
            if flag(before) != nil {
                if words.first == "=" { words.removeFirst() }
                words = words.dropFirst()
            } else if !before.hasPrefix("-") {
                position += 1
            }
        }
        guard word.hasPrefix("-") || !command.operands.indices.contains(position) else {
            return offer(command.operands[position], word, "")
        }
        return .words(
            command.flags.map { Word(text: "--\($0.name)", meaning: $0.shortHelp) }
                + [Word(text: "--help", meaning: "print the help")]
        )
    }

    /// The possible values, of which `word` is typed, with the `prefix` before it.
    private func offer(_ values: Flag.Value, _ word: String, _ prefix: String) -> Offer {
        switch values {
        case .choice(let names): return .words(names.map { Word(text: prefix + $0, meaning: "") })
        case .list(.choice(let names)):
            let start = word.lastIndex(of: ",").map(word.index(after:)) ?? word.startIndex
            let others = prefix + word[..<start]
            return .list(names.map { Word(text: others + $0, meaning: "") })
        case _ where values.placeholder == "FILE": return .files
        case _ where values.placeholder == "DIR": return .folders
        default: return .words([])
        }
    }
}

extension Completion.Offer {
    /// The text for the scripts: the kind, and then a word in each line, with its meaning after a
    /// tab.
    package var text: String {
        func lines(_ kind: String, _ words: [Completion.Word]) -> String {
            ([kind] + words.map { $0.meaning.isEmpty ? $0.text : "\($0.text)\t\($0.meaning)" })
                .map { $0 + "\n" }.joined()
        }
        return switch self {
        case .words(let words): lines("words", words)
        case .list(let words): lines("list", words)
        case .files: "files\n"
        case .folders: "folders\n"
        case .programs: "programs\n"
        }
    }
}

extension Flag.Value {
    fileprivate var isToggle: Bool { if case .toggle = self { true } else { false } }
}

extension Flag {
    /// The first sentence of the help, without its full stop.
    fileprivate var shortHelp: String {
        let end = help.firstRange(of: ". ")?.lowerBound ?? help.endIndex
        let sentence = help[..<end]
        return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
    }
}
