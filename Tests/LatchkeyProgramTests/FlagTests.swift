import LatchkeyService
import LatchkeySettings
import LatchkeyStrategies
import Testing

@testable import LatchkeyCommandLine
@testable import LatchkeyComparison
@testable import latchkey

/// The values of flags.
struct FlagTests {
    @Test func `values have units`() throws {
        func serve(_ flag: String) throws -> ServiceConfiguration {
            try ServeCommand.configuration([flag]) { _ in nil }
        }
        for (text, seconds) in [("90", 90), ("90s", 90), ("2m", 120), ("1.5m", 90), ("1h", 3600)] {
            #expect(try serve("--drain-seconds=\(text)").drainTime == .seconds(seconds))
        }
        let bodyBytes = ServiceConfiguration.settings.first { $0.name == "max-body-bytes" }
        let sizes = [
            ("4096", 4096), ("4096B", 4096), ("4KiB", 4096), ("1.5KiB", 1536), ("2kB", 2000),
            ("1MiB", 1 << 20), ("1GB", 1_000_000_000),
        ]
        for (text, count) in sizes {
            let configuration = try serve("--max-body-bytes=\(text)")
            #expect(bodyBytes?.text(in: configuration) == "\(count)")
        }
        for flag in [
            "--drain-seconds=0.5s", "--drain-seconds=500ms", "--drain-seconds=90.0",
            "--drain-seconds=2d", "--drain-seconds=s", "--drain-seconds=2h30m",
            "--drain-seconds=25h", "--max-body-bytes=1.0001KiB", "--max-body-bytes=2GiB",
            "--max-body-bytes=1kib", "--port=8kB", "--port=80s", "--max-body-bytes=99999999999TiB",
        ] {
            #expect(throws: UsageError.self, "\(flag)") { try serve(flag) }
        }
    }

    @Test(arguments: [
        (["--cluster", "http://127.0.0.1:1"], "--cluster needs --data"),
        (["--cluster", "ftp://a"], "--cluster takes"),
        (
            ["--data", "a", "--cluster", "https://a,http://b", "--cluster-ca", "c"],
            "--cluster-ca needs addresses in --cluster that all begin"
        ),
        (["--cluster-name", "a"], "no meaning without --cluster"),
        (["--follow", "http://127.0.0.1:1", "--data", "a"], "--data has no meaning"),
        (["--host", "0.0.0.0"], "--token-file"), (["--host", "::"], "--token-file"),
        (["--insecure", "--token-file", "a"], "has no meaning"),
        (["--open", "none"], "has no meaning"), (["--first-token", "f"], "has no meaning"),
        (["--rate-mode", "count"], "has no meaning"),
        (["--quota", "=5"], "--quota needs a prefix. --max-bytes limits all properties."),
        (["--quota", "a=1", "--quota=a=2"], "--quota names the prefix 'a' twice."),
        (["--quota", "a=1,b=2,%61=3"], "--quota names the prefix 'a' twice."),
        (
            ["--quota", "a"],
            "--quota takes prefixes and bytes, such as app/=64MiB, or none, not 'a'."
        ),
        (
            ["--quota", "a=1,none"],
            "--quota takes prefixes and bytes, such as app/=64MiB, or none, not 'none'."
        ),
        (
            ["--quota", "a=0"],
            "--quota takes a whole number from 1 to 1125899906842624 bytes after '=', such as "
                + "512KiB or 2MB, not '0'."
        ),
        (
            ["--quota", "a%FF=1"],
            "--quota takes prefixes of 1 to 256 bytes of percent-encoded UTF-8 without control "
                + "characters, not 'a%FF'."
        ),
    ])
    func `flags that are wrong or exclude each other are refused`(flags: [String], reason: String) {
        let error = #expect(throws: UsageError.self) {
            try ServeCommand.configuration(flags) { _ in nil }
        }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test func `a template may write every default`() throws {
        // The other defaults are no values: they say where the default comes from.
        let written = ServeCommand.flags.filter {
            $0.hasEnvironment && !$0.defaultText.contains(" ")
        }
        let plain = try ServeCommand.configuration([]) { _ in nil }
        let variables = Dictionary(
            uniqueKeysWithValues: written.map { ($0.environmentName, $0.defaultText) }
        )
        let read = try ServeCommand.configuration([]) { variables[$0] }
        let given = written.map { "--\($0.name)=\($0.defaultText)" }
        let parsed = try ServeCommand.configuration(given) { _ in nil }
        for setting in ServiceConfiguration.settings {
            let text = setting.text(in: plain)
            #expect(setting.text(in: read) == text && setting.text(in: parsed) == text)
        }
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

    @Test func `an optional setting can be none`() throws {
        let unset = ServiceConfiguration()
        for setting in ServiceConfiguration.settings {
            let text = setting.text(in: unset)
            #expect(!text.isEmpty, "--\(setting.name)")
            guard text == "none" else { continue }
            var configuration = unset
            try setting.set("none", in: &configuration)
            #expect(setting.text(in: configuration) == "none", "--\(setting.name)")
            #expect(setting.help.contains("none"), "--\(setting.name)")
            #expect(throws: InvalidSetting.self) { try setting.set("", in: &configuration) }
        }
    }

    @Test(arguments: [
        ([], "'create'"), (["create"], "needs a name"), (["create", "ci"], "needs --grant"),
        (["create", "c/i", "--grant", "read"], "A name has"),
        (["create", "ci", "--grant", "reads"], "'reads' is no right"),
        (["create", "ci", "--grant", "read", "--all"], "has no meaning"),
        (["revoke", "--all"], "--token-file"), (["revoke", "--token-file", "f"], "--all"),
    ])
    func `an error in the arguments of a token is named`(arguments: [String], reason: String) {
        let error = #expect(throws: UsageError.self) { try TokenCommand.run(arguments) }
        #expect(error?.message.contains(reason) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("threds", "threads"), ("thraeds", "threads"), ("THREADS", "threads"), ("key", "keys"),
        ("read_ratio", "read-ratio"), ("stripe", "stripes"), ("nonsense", nil), ("x", nil),
        ("", nil),
    ])
    func `a name is suggested if it is near`(text: String, name: String?) {
        let names = ["threads", "keys", "read-ratio", "stripes", "repeats"]
        #expect(Suggestion.nearest(to: text, among: names) == name)
    }

    private func settings(_ arguments: [String]) throws -> ComparisonSettings {
        let values = try FlagValues(
            CompareFlags.all,
            command: "latchkey compare",
            arguments: arguments
        ) {
            _ in nil
        }
        return try CompareFlags.settings(values)
    }

    @Test func `a range of threads is written out by doubling`() throws {
        for (text, counts) in [("1..8", [1, 2, 4, 8]), ("1..6", [1, 2, 4, 6]), ("3", [3])] {
            #expect(try settings(["--threads", text]).threads == counts)
        }
    }

    @Test func `without flags the settings are the defaults, and a preset changes some of them`()
        throws
    {
        #expect(try settings([]) == ComparisonSettings())
        let cache = try settings(["--preset", "cache", "--stripes", "4", "--duration", "20ms"])
        #expect(cache.preset == .cache && cache.skews == [.zipf(exponent: 0.99)])
        #expect(cache.stripes == [4] && cache.durationSeconds == 0.02)
        let http = try settings(["--transport", "http", "--preset", "cache"])
        #expect(http.threads == [4, 32] && http.durationSeconds == 1)
        #expect(http.sectionNanoseconds == [0] && http.keys == [1024])
    }

    @Test func `the command line in a report makes the same settings`() throws {
        var memory = ComparisonSettings()
        memory.strategies = [.lock, .serialQueueAsync]
        (memory.threads, memory.readRatios) = ([1, 3], [0, 0.25, 1])
        memory.sectionNanoseconds = [0, 1_000]
        memory.outside = [OutsideWork(nanoseconds: 7, scalesWithThreads: true)]
        (memory.keys, memory.skews) = ([1, 64], [.uniform, .zipf(exponent: 0.99)])
        memory.stripes = [2, 16]
        memory.arrival = .open(operationsPerSecond: 20_000)
        (memory.durationSeconds, memory.repeats, memory.seed) = (0.25, 7, 99)
        memory.isForced = true
        var http = ComparisonSettings()
        http.transport = .http
        http.useHTTPDefaults()
        for expected in [ComparisonSettings(), memory, http] {
            let line = expected.commandLine
            #expect(line.hasPrefix("latchkey compare --transport "))
            let arguments = line.split(separator: " ").dropFirst(2).map(String.init)
            #expect(try settings(arguments) == expected, "\(line)")
        }
    }

    @Test func `times have units, and a number without one means what it meant`() throws {
        let timed = try settings([
            "--section", "50,75ns,1us,10µs", "--outside", "200,scaled:1us,2ms",
            "--duration", "20000us",
        ])
        #expect(timed.sectionNanoseconds == [50, 75, 1_000, 10_000])
        #expect(timed.outside.map(\.rawValue) == ["200", "scaled:1000", "2000000"])
        #expect(timed.durationSeconds == 0.02)
        let range = try settings(["--section", "1us..8us"])
        #expect(range.sectionNanoseconds == [1_000, 2_000, 4_000, 8_000])
        #expect(try settings(["--duration", "2"]).durationSeconds == 2)
        #expect(try settings(["--duration", "0.5m"]).durationSeconds == 30)
        for bad in ["0.5ns", "1 us", "11ms", "us"] {
            #expect(throws: UsageError.self, "\(bad)") { try settings(["--section", bad]) }
            #expect(throws: UsageError.self, "\(bad)") { try settings(["--outside", bad]) }
        }
    }

    @Test func `a run of more than five minutes says how long it takes, and why`() throws {
        var long = ComparisonSettings()
        (long.strategies, long.threads, long.repeats) = ([.lock, .spin], [1, 2, 4], 1000)
        long.readRatios = [0, 0.5]
        let planned = try ComparisonRun(long, version: "")
        #expect(planned.announcement(seconds: 300) == nil)
        let sentence = try #require(planned.announcement(seconds: 4_430))
        #expect(
            sentence.hasPrefix(
                "the run takes about 1 h 13 min: 20 cases × 1000 repeats × 80 ms, warm-up, "
                    + "metering, rounds of short slices and checks included. The cases are all "
                    + "combinations of 2 strategies and the baselines, 3 numbers of threads and "
                    + "2 workloads."
            )
        )
        long.arrival = .open(operationsPerSecond: 20_000)
        let open = try ComparisonRun(long, version: "")
        let text = try #require(open.announcement(seconds: 4_430))
        #expect(text.contains(" warm-up, metering and checks "))
    }
}
