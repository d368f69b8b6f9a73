internal import LatchkeyComparison
internal import LatchkeySettings
internal import LatchkeySync

/// The flags of `latchkey compare` and the settings they make.
enum CompareFlags {
    private static let defaults = ComparisonSettings()

    static var all: [Flag] { workload + run + output }

    // MARK: What is compared

    static let workload: [Flag] = [
        preset, strategies, threads, readRatio, section, outside, keys, skew, stripes, arrival,
    ]

    private static let preset = Flag(
        "preset",
        .choice(ComparisonPreset.allCases.map(\.rawValue)),
        default: "",
        "A workload that people know. "
            + ComparisonPreset.allCases.map { "\($0.rawValue): \($0.meaning)." }
            .joined(separator: " ") + " Other flags change it."
    )

    private static let strategies = Flag(
        "strategies",
        .list(.choice(StrategyKind.allCases.map(\.rawValue) + ["all"])),
        default: "all",
        "What to compare. 'latchkey strategies' prints the list."
    )

    private static let threads = Flag(
        "threads",
        .list(.integer(1...ComparisonBounds.threadsMax)),
        default: spelled(defaults.threads),
        "How many threads work at once; over HTTP how many connections, and 4,32 unless told."
    )

    private static let readRatio = Flag(
        "read-ratio",
        .list(.decimal(0...1)),
        default: spelled(defaults.readRatios),
        "Which share of the operations only reads."
    )

    private static let section = Flag(
        "section",
        .list(.integer(0...ComparisonBounds.workNanosecondsMax)),
        default: spelled(defaults.sectionNanoseconds),
        "How many nanoseconds an operation works inside the guarded section. Not over HTTP, where "
            + "the section is the service's."
    )

    private static let outside = Flag(
        "outside",
        .list(
            .spelling(placeholder: "N", help: "nanoseconds such as 200, or scaled:200") {
                let work = OutsideWork($0)
                return work.map { $0.nanoseconds <= ComparisonBounds.workNanosecondsMax } ?? false
            }
        ),
        default: spelled(defaults.outside),
        "How many nanoseconds a thread works between two operations. scaled:N is N times the "
            + "number of threads, so that the guard is asked for as often in all."
    )

    private static let keys = Flag(
        "keys",
        .list(.integer(1...ComparisonBounds.keysMax)),
        default: spelled(defaults.keys),
        "How many properties there are."
    )

    private static let skew = Flag(
        "skew",
        .list(
            .spelling(placeholder: "SKEW", help: "uniform, or zipf:EXPONENT such as zipf:0.99") {
                KeySkew($0) != nil
            }
        ),
        default: spelled(defaults.skews),
        "How often each property is used: uniform, or zipf:0.99 where few are used most."
    )

    private static let stripes = Flag(
        "stripes",
        .list(
            .spelling(placeholder: "N", help: "powers of two from 1 to \(StripeCount.max)") {
                Int($0).map(StripeCount.isValid) ?? false
            }
        ),
        default: spelled(defaults.stripes),
        "Over how many independent guards the properties are spread: powers of two."
    )

    private static let arrival = Flag(
        "arrival",
        .text(placeholder: "ARRIVAL"),
        default: defaults.arrival.description,
        "closed: a thread begins the next operation when the last one has ended. open:RATE: "
            + "operations begin at this rate a second in all, and are timed from when they should "
            + "have begun."
    )

    // MARK: How it is run

    static let run: [Flag] = [
        Flag(
            "transport",
            .choice(ComparisonSettings.Transport.allCases.map(\.rawValue)),
            default: defaults.transport.rawValue,
            "memory: threads of this process. http: starts the service for each strategy and "
                + "drives it with wrk."
        ),
        threadMode,
        Flag(
            "duration",
            .text(placeholder: "TIME"),
            default: "150ms",
            "How long a repeat is measured, such as 200ms or 2s; a number alone is seconds. Over "
                + "HTTP in whole seconds, and 1s unless told."
        ),
        Flag(
            "repeats",
            .integer(1...ComparisonBounds.repeatsMax),
            default: "\(defaults.repeats)",
            "How often each case is measured. Fewer than 5 say little about noise, and fewer "
                + "than 4 nothing about modes."
        ),
        Flag(
            "seed",
            .integer(0...Int.max),
            default: "\(defaults.seed)",
            "What decides the order of the cases and everything random in them."
        ),
        Flag(
            "force",
            .toggle,
            default: "false",
            "Ranks even a debug build or a machine that is busy with something else, and says so; "
                + "with --against, compares all figures of such reports."
        ),
    ]

    private static let threadMode = Flag(
        "thread-mode",
        .list(.choice(ThreadMode.allCases.map(\.rawValue))),
        default: spelled(defaults.threadModes.map(\.rawValue)),
        "Over HTTP: how the service gives connections to threads."
    )

    static var output: [Flag] { files + reports }

    /// What is written besides standard output.
    static let files: [Flag] = [
        Flag("json", .text(placeholder: "FILE"), default: "", "Also writes the report as JSON."),
        Flag(
            "csv",
            .text(placeholder: "FILE"),
            default: "",
            "Also writes every repeat as a line of CSV."
        ),
        Flag(
            "html",
            .text(placeholder: "FILE"),
            default: "",
            "Also writes the report as one page with plots."
        ),
    ]

    static let from = Flag(
        "from",
        .text(placeholder: "FILE"),
        default: "",
        "Measures nothing, and takes the report from a JSON file. Prints it, or compares "
            + "--against another."
    )

    private static let reports: [Flag] = [
        from,
        Flag(
            "against",
            .text(placeholder: "FILE"),
            default: "",
            "The later report, in which things may have become worse."
        ),
    ]

    private static func spelled(_ values: [some CustomStringConvertible]) -> String {
        values.map(\.description).joined(separator: ",")
    }

    // MARK: Settings

    /// The settings that the flags make.
    static func settings(_ values: FlagValues) throws(UsageError) -> ComparisonSettings {
        var settings = ComparisonSettings()
        settings.transport = values.choice("transport")
        if settings.transport == .http {
            settings.useHTTPDefaults()
            for flag in [section, outside] where values.isGiven(flag.name) {
                throw UsageError("--\(flag.name) has no meaning over HTTP.")
            }
        } else if values.isGiven(threadMode.name) {
            throw UsageError("--thread-mode has a meaning over HTTP only.")
        }
        if values.isGiven("preset") {
            let preset: ComparisonPreset = values.choice("preset")
            preset.apply(to: &settings)
            if settings.transport == .http { settings.haveNoWork() }
        }
        func set<Item>(
            _ flag: Flag,
            _ path: WritableKeyPath<ComparisonSettings, [Item]>,
            _ make: (String) -> Item?
        ) {
            if values.isGiven(flag.name) {
                settings[keyPath: path] = values.list(flag, make)
            }
        }
        if values.isGiven("strategies") {
            settings.strategies = try values.strategies(strategies)
        }
        set(threads, \.threads) { Int($0) }
        set(readRatio, \.readRatios) { Double($0) }
        set(section, \.sectionNanoseconds) { Int($0) }
        set(outside, \.outside) { OutsideWork($0) }
        set(keys, \.keys) { Int($0) }
        set(skew, \.skews) { KeySkew($0) }
        set(stripes, \.stripes) { Int($0) }
        set(threadMode, \.threadModes) { ThreadMode(rawValue: $0) }
        guard let arrival = Arrival(values.text("arrival")) else {
            throw UsageError(
                "--arrival takes closed, or open:RATE such as open:100000, not "
                    + "'\(values.text("arrival"))'."
            )
        }
        settings.arrival = arrival
        if values.isGiven("duration") {
            settings.durationSeconds = try duration(values.text("duration"))
        }
        if values.isGiven("repeats") {
            settings.repeats = values.integer("repeats")
        }
        settings.seed = UInt64(values.integer("seed"))
        settings.isForced = values.isOn("force")
        do {
            try settings.validate()
        } catch {
            throw UsageError(error.message)
        }
        return settings
    }

    private static func duration(_ text: String) throws(UsageError) -> Double {
        let units: [(String, Double)] = [("ms", 1e-3), ("s", 1), ("", 1)]
        let bounds = ComparisonBounds.durationSeconds
        for (unit, seconds) in units where text.hasSuffix(unit) {
            if let number = Double(text.dropLast(unit.count)), bounds.contains(number * seconds) {
                return number * seconds
            }
        }
        throw UsageError("--duration takes a time from 5ms to 60s, such as 200ms, not '\(text)'.")
    }
}
