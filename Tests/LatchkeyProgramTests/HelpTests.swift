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

    @Test func `the help of serve has the common flags, and the full help has all`() throws {
        let serve = try Latchkey.command("serve")
        let names = { (manual: String) in
            manual.split(separator: "\n").compactMap { line in
                line.hasPrefix("  --") ? line.dropFirst(4).prefix { $0 != " " } : nil
            }
        }
        #expect(names(serve.fullManual) == serve.flags.map { $0.name[...] })
        let common = ServeCommand.commonFlags.flatMap(\.names)
        #expect(common.count == 15 && Set(common).isSubset(of: serve.flags.map(\.name)))
        #expect(names(serve.manual) == common.map { $0[...] })
        let paragraph = """
              --eviction NAME
                  Whether a write without room is refused with status 507, or removes the
                  least recently used properties. One of refuse, lru. Default: refuse.

            """
        #expect(serve.manual.contains(paragraph))
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
