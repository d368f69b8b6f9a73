import Foundation
import LatchkeySettings
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The pages of the manual; `make test-install` asks `man` and `mandoc` about them.
@Suite(.timeLimit(.minutes(15)))
struct ManualPageTests {
    private static let version = "latchkey \(Latchkey.version)"

    /// What is left of a page without the marks of roff.
    private func plain(_ roff: String) -> String {
        let lines = roff.split(separator: "\n").filter { !$0.hasPrefix(".") || $0.hasPrefix(".SH") }
        var text = lines.joined(separator: "\n")
        for (mark, character) in [
            ("\\fB", ""), ("\\fI", ""), ("\\fR", ""), ("\\&", ""), ("\\-", "-"), ("\\(aq", "'"),
            ("\\(dq", "\""), ("\\(ga", "`"), ("\\(ha", "^"), ("\\(ti", "~"), ("\\e", "\\"),
            ("\\[u2026]", "…"),
        ] {
            text = text.replacing(mark, with: character)
        }
        return text
    }

    private func words(_ text: String) -> Set<Substring> {
        Set(text.split { $0.isWhitespace || $0 == "," || $0 == ":" })
    }

    @Test(arguments: Latchkey.commands.map(\.name))
    func `the page of a command says what its help says, and has every flag`(
        name: String
    ) throws {
        let command = try Latchkey.command(name)
        let page = ManualPage(program: "latchkey", command: command)
        let roff = page.roff(version: Self.version, date: "")
        let text = plain(roff)
        let titles: Set<Substring> = ["Usage", "Status", "Example", "Examples"]
        let names = HelpText(command.text).sections.flatMap { words($0.title) }
        let left = words(command.text).subtracting(words(text)).subtracting(titles)
            .subtracting(names)
        #expect(left.isEmpty)
        for title in ["NAME", "SYNOPSIS", "OPTIONS", "SEE ALSO"] {
            #expect(roff.contains(".SH \"\(title)\"\n"))
        }
        for flag in command.flags {
            let escaped = flag.name.replacing("-", with: "\\-")
            #expect(roff.contains("\n.TP\n\\fB\\-\\-\(escaped)\\fR"), "--\(flag.name)")
            #expect(words(flag.explanation).isSubset(of: words(text)), "--\(flag.name)")
        }
    }

    @Test func `the program's page and the help name every command`() throws {
        let page = try #require(ManualCommand.pages.first)
        let text = plain(page.roff(version: Self.version, date: ""))
        #expect(ManualCommand.pages.count == Latchkey.commands.count + 1)
        for command in Latchkey.commands {
            #expect(text.contains("latchkey-\(command.name)(1)"))
            #expect(text.contains("\n\(command.name)\n\(command.summary)\n"))
            #expect(!command.summary.isEmpty)
            #expect(Latchkey.manual.contains("\n  \(command.name) "))
        }
        #expect(Latchkey.manual.split(separator: "\n").allSatisfy { $0.count <= 80 })
    }

    @Test func `text is escaped, also at the start of a line`() {
        let command = Command(
            name: "c",
            manual: """
                p c: says 'no' \\ yes

                Usage: p c [-x] A
                             [--long-name B]

                .dot and read-only --long-name 'quoted' µ

                'q'

                """,
            flags: []
        ) { _ in }
        let roff = ManualPage(program: "p", command: command).roff(version: "1", date: "2026-01-31")
        #expect(
            roff == """
                .TH "P-C" "1" "2026-01-31" "1" "User Commands"
                .nh
                .ad l
                .SH "NAME"
                \\fBp\\-c\\fR \\- says \\(aqno\\(aq \\e yes
                .SH "SYNOPSIS"
                p c [\\-x] A [\\-\\-long\\-name B]
                .SH "DESCRIPTION"
                \\&.dot and read-only \\-\\-long\\-name \\(aqquoted\\(aq \\[u00B5]
                .PP
                \\(aqq\\(aq
                .SH "OPTIONS"
                .TP
                \\fB\\-h\\fR, \\fB\\-\\-help\\fR
                Prints the help.
                .SH "SEE ALSO"
                \\fBp\\fR(1)

                """
        )
    }

    @Test func `a help text has paragraphs, tables and lines that stay`() {
        let text = HelpText(
            """
            p c: does

            Usage: p c A
                   p c --b
                       --c

            One
            two:
            latchkey: ready

            Status:
              0    good,
                   very
              1    bad

            Examples:
              p c 1 \\
                --b

            Last.
            """
        )
        #expect(text.summary == "does")
        #expect(text.usage == ["p c A", "p c --b --c"])
        #expect(
            text.body == [
                .paragraph("One two:"), .literal(["latchkey: ready"]), .paragraph("Last."),
            ]
        )
        #expect(
            text.sections == [
                .init(
                    title: "Status",
                    blocks: [
                        .rows([
                            .init(name: "0", meaning: "good, very"),
                            .init(name: "1", meaning: "bad"),
                        ])
                    ]
                ),
                .init(title: "Examples", blocks: [.literal(["p c 1 \\", "  --b"])]),
            ]
        )
    }

    @Test(arguments: [
        ("202601312359.0123abcd", "2026-01-31"), ("", ""), ("0123abcd", ""), ("2026", ""),
    ])
    func `the day of a build`(build: String, day: String) {
        #expect(LatchkeyCommandLine.day(of: build) == day)
    }

    @Test(arguments: [
        ("", "1.2.0"), ("202601312359.0123abcd", "1.2.0~202601312359.0123abcd"),
        ("202601312359.0123abcd.release", "1.2.0"),
        ("202601312359.0123abcd.changed", "1.2.0~202601312359.0123abcd.changed"),
    ])
    func `a build comes before its release`(build: String, version: String) {
        #expect(LatchkeyCommandLine.fullVersion("1.2.0", build: build) == version)
    }
}
