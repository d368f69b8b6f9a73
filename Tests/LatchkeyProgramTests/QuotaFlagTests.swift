import LatchkeyService
import LatchkeySettings
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// The text of `--quota`.
struct QuotaFlagTests {
    @Test(arguments: [
        (["--quota", "=5"], "needs a prefix. --max-bytes bounds all properties."),
        (["--quota", "a=1", "--quota=a=2"], "names the prefix 'a' twice."),
        (["--quota", "a=1,b=2,%61=3"], "names the prefix 'a' twice."),
        (["--quota", "a"], "takes prefixes and bytes, such as app/=64MiB, or none, not 'a'."),
        (
            ["--quota", "a=1,none"],
            "takes prefixes and bytes, such as app/=64MiB, or none, not 'none'."
        ),
        (
            ["--quota", "a=0"],
            "takes a whole number from 1 to 1125899906842624 bytes behind '=', such as 512KiB or "
                + "2MB, not '0'."
        ),
        (
            ["--quota", "a%FF=1"],
            "takes prefixes of 1 to 256 bytes of percent-encoded UTF-8 without control characters, "
                + "not 'a%FF'."
        ),
    ])
    func `a wrong quota is refused in a sentence`(flags: [String], sentence: String) throws {
        let error = #expect(throws: UsageError.self) {
            try ServeCommand.configuration(flags) { _ in nil }
        }
        #expect(error?.message == "--quota \(sentence)")
    }

    @Test func `quotas are read with units, from several flags, up to a bound`() throws {
        let setting = try #require(ServiceConfiguration.settings.first { $0.name == "quota" })
        func quotas(_ flags: [String]) throws -> String {
            setting.text(in: try ServeCommand.configuration(flags) { _ in nil })
        }
        let read = try quotas(["--quota", "a b=1KiB,é/=2MB", "--quota=x=y%25=7"])
        #expect(read == "a b=1024,é/=2000000,x=y%25=7")
        #expect(try quotas(["--quota", "none"]) == "none")
        #expect(try quotas([]) == "none")
        let many = (0..<64).map { "p\($0)=1" }.joined(separator: ",")
        #expect(try quotas(["--quota", many]) == many)
        let error = #expect(throws: UsageError.self) {
            try quotas(["--quota", many, "--quota=q=1"])
        }
        #expect(error?.message == "--quota takes at most 64 quotas, not 65.")
    }
}
