import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The texts that pages of the manual are made of; `make test-install` asks `man` and `mandoc`.
struct HelpTests {
    @Test func `the help names every command, and what it does`() {
        for command in Latchkey.commands {
            #expect(Latchkey.manual.contains("\n  \(command.name) "))
            #expect(!command.summary.isEmpty && !command.summary.contains("\n"))
            #expect(command.manual.hasPrefix("latchkey \(command.name): "))
        }
        #expect(Latchkey.manual.split(separator: "\n").allSatisfy { $0.count <= 80 })
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
