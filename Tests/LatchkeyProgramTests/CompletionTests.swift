import Foundation
import LatchkeySettings
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// What shells complete; `make test-install` asks zsh and fish themselves.
@Suite(.timeLimit(.minutes(15)))
struct CompletionTests {
    private static var commands: [Command] { Latchkey.commands }
    private static var completion: Completion {
        Completion(program: "latchkey", commands: commands)
    }

    /// A command line up to the word that is completed, and what bash must offer.
    private struct Line {
        let words: [String]
        let offers: Set<String>

        init(_ words: [String], _ offers: [String]) {
            self.words = words
            self.offers = Set(offers)
        }
    }

    @Test func `bash offers the commands, and each command's flags`() async throws {
        let names = Self.commands.map(\.name) + ["help", "--help", "--version"]
        var lines = [Line([""], names), Line(["ser"], ["serve"]), Line(["--v"], ["--version"])]
        for command in Self.commands {
            let flags = command.flags.map { "--\($0.name)" } + ["--help"]
            lines.append(Line([command.name, "--"], flags))
            lines.append(Line([command.name, flags[0]], flags.filter { $0.hasPrefix(flags[0]) }))
            let longer = Self.commands.map(\.name).filter { $0.hasPrefix(command.name) }
            lines.append(Line(["help", command.name], longer))
        }
        try await check(lines)
    }

    @Test func `bash offers the values of each flag`() async throws {
        var lines: [Line] = []
        for command in Self.commands {
            for flag in command.flags {
                let typed = [command.name, "--\(flag.name)"]
                switch flag.value {
                case .choice(let names):
                    lines.append(Line(typed + [""], names))
                    lines.append(Line(typed + ["="], names))
                    lines.append(
                        Line(typed + ["=", names[0]], names.filter { $0.hasPrefix(names[0]) })
                    )
                case .list(.choice(let names)):
                    lines.append(Line(typed + [""], names))
                    lines.append(Line(typed + ["a,"], names.map { "a,\($0)" }))
                case .toggle:
                    let flags = command.flags.map { "--\($0.name)" } + ["--help"]
                    lines.append(Line(typed + ["--"], flags))
                case _ where ["FILE", "DIR"].contains(flag.value.placeholder): break
                default: lines.append(Line(typed + [""], []))
                }
            }
        }
        #expect(lines.count > 100)
        try await check(lines)
    }

    @Test func `bash offers operands where they stand`() async throws {
        let flags = TokenCommand.flags.map { "--\($0.name)" } + ["--help"]
        try await check([
            Line(["completion", ""], ["bash", "zsh", "fish"]),
            Line(["completion", "f"], ["fish"]),
            Line(["token", ""], ["create", "revoke"]),
            Line(["token", "create", ""], []),
            Line(["token", "--grant", "read", ""], ["create", "revoke"]),
            Line(["token", "--grant", "=", "read", ""], ["create", "revoke"]),
            Line(["token", "create", "me", ""], flags),
            Line(["recover", "--accept-loss", "/dev/shm"], ["/dev/shm"]),
            Line(["recover", "/dev/null"], []),
            Line(["check", "/dev/shm", ""], ["--help"]),
            Line(["backup", "/dev/shm", "/dev/null"], ["/dev/null"]),
            Line(["serve", "--data", "/dev/null"], []),
            Line(["serve", "--token-file", "/dev/null"], ["/dev/null"]),
            Line(["serve", "--data=/dev/shm"], ["--data=/dev/shm"]),
            Line(["lock", "a", "--", "latchkey-no-such-program"], []),
            Line(["lock", "a", "--", "mapfil"], ["mapfile"]),
        ])
    }

    @Test func `each script has every flag of every command`() {
        let zsh = Self.completion.script(.zsh)
        let fish = Self.completion.script(.fish)
        for command in Self.commands {
            let block = zsh.split(separator: "\n        \(command.name))\n").last?
                .split(separator: "\n            ;;").first
            for flag in command.flags {
                let specification = "                '\(flag.isRepeatable ? "*" : "")--\(flag.name)"
                #expect(
                    ["[", "=["].contains { block?.contains(specification + $0) == true },
                    "zsh: \(command.name) --\(flag.name)"
                )
                let line =
                    "complete -c latchkey -n '__latchkey_runs \(command.name)' -l \(flag.name) "
                #expect(fish.contains("\n" + line), "fish: \(command.name) --\(flag.name)")
            }
        }
    }

    @Test func `characters with a meaning for a shell stand for themselves`() {
        let flag = Flag("f", .text(placeholder: "A:[B]"), default: "", "It's a \\ [thing]: so. No.")
        let command = Command(name: "c", manual: "p c: it's", flags: [flag]) { _ in }
        let completion = Completion(program: "p", commands: [command])
        #expect(
            completion.script(.zsh).contains(
                #"'--f=[It'\''s a \\ \[thing\]\: so]:A\:\[B\]: '"#
            )
        )
        #expect(completion.script(.fish).contains(#"-l f -x -d 'It\'s a \\ [thing]: so'"#))
        #expect(completion.script(.fish).contains(#"-a c -d 'it\'s'"#))
    }

    private func check(_ lines: [Line]) async throws {
        let offers = try await offPool {
            try Self.offers(of: Self.completion.script(.bash), lines.map(\.words))
        }
        try #require(offers.count == lines.count)
        for (line, offered) in zip(lines, offers) {
            #expect(Set(offered) == line.offers, "latchkey \(line.words.joined(separator: " "))")
        }
    }

    /// What a bash offers for each line.
    private static func offers(of script: String, _ lines: [[String]]) throws -> [[String]] {
        let mark = "\u{1F}"
        let loop = """
            while IFS= read -r line; do
                mapfile -d $'\\x1f' -t COMP_WORDS < <(printf %s "$line")
                COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                _latchkey
                printf '%s\\x1f' "${COMPREPLY[@]}"
                echo
            done <"$1"
            """
        let folder = try TemporaryFolder()
        let input = folder.path + "/lines"
        let text = lines.map { words in
            (["latchkey"] + words).map { $0 + mark }.joined() + "\n"
        }.joined()
        try Data(text.utf8).write(to: URL(filePath: input))
        let bash = Process()
        bash.executableURL = URL(filePath: "/bin/bash")
        bash.arguments = ["--norc", "-c", script + loop, "bash", input]
        let output = Pipe()
        bash.standardOutput = output
        try bash.run()
        let bytes = try output.fileHandleForReading.readToEnd() ?? Data()
        bash.waitUntilExit()
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { line in
            line.split(separator: mark).map(String.init)
        }
    }
}
