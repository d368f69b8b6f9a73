import LatchkeySettings
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The completions for shells; `make test-install` asks bash, zsh and fish themselves.
struct CompletionTests {
    private let commands = Latchkey.commands
    private let completion = Completion(commands: Latchkey.commands)

    private func offers(_ words: String...) -> [String] {
        switch completion.offer(words) {
        case .words(let words), .list(let words): words.map(\.text)
        case .files, .folders, .programs: []
        }
    }

    private func flags(_ command: Command) -> [String] {
        command.flags.map { "--\($0.name)" } + ["--help"]
    }

    @Test func `the commands, and each command's flags`() {
        let names = commands.map(\.name)
        #expect(offers("") == names + ["help", "--help", "--version"])
        #expect(offers("help", "") == names)
        #expect(offers("nothing", "").isEmpty)
        for command in commands { #expect(offers(command.name, "--") == flags(command)) }
    }

    @Test func `the values of each flag`() {
        for command in commands {
            for flag in command.flags {
                let name = "--\(flag.name)"
                switch flag.value {
                case .choice(let names):
                    #expect(offers(command.name, name, "") == names)
                    #expect(offers(command.name, name, "=") == names)
                    #expect(offers(command.name, name, "=", "a") == names)
                    #expect(offers(command.name, "\(name)=") == names.map { "\(name)=\($0)" })
                case .list(.choice(let names)):
                    #expect(offers(command.name, name, "") == names)
                    #expect(offers(command.name, name, "a,b") == names.map { "a,\($0)" })
                    #expect(offers(command.name, "\(name)=a,") == names.map { "\(name)=a,\($0)" })
                case .toggle: #expect(offers(command.name, name, "--") == flags(command))
                default: #expect(offers(command.name, name, "").isEmpty)
                }
            }
        }
    }

    @Test func `several names with commas between them`() {
        guard case .list(let words) = completion.offer(["compare", "--strategies", "spin,"]) else {
            Issue.record("no list")
            return
        }
        #expect(words.map(\.text).contains("spin,lock"))
    }

    @Test func `operands where they stand`() throws {
        let token = try flags(Latchkey.command("token"))
        #expect(offers("completion", "") == ["bash", "zsh", "fish"])
        #expect(offers("token", "") == ["create", "revoke"])
        #expect(offers("token", "create", "").isEmpty)
        #expect(offers("token", "--grant", "read", "") == ["create", "revoke"])
        #expect(offers("token", "--grant", "=", "read", "") == ["create", "revoke"])
        #expect(offers("token", "--grant=read", "") == ["create", "revoke"])
        #expect(offers("token", "create", "me", "") == token)
        #expect(offers("check", "folder", "") == ["--help"])
    }

    @Test(arguments: [
        (["recover", "--accept-loss", "/"], "folders\n"), (["serve", "--data=/"], "folders\n"),
        (["serve", "--token-file", "/"], "files\n"), (["backup", "/", ""], "files\n"),
        (["lock", "a", "--", "mapfil"], "programs\n"), (["lock", "--", "a", "-"], "programs\n"),
        (["token", "c"], "words\ncreate\nrevoke\n"),
        (
            ["strategies", "-"],
            "words\n--format\tThe format of the table\n--help\tprint the help\n"
        ),
    ])
    func `the text for the scripts`(words: [String], text: String) {
        #expect(completion.offer(words).text == text)
    }
}
