package import LatchkeySettings
import LatchkeyStrategies

extension ComparisonSettings: Configurable {
    package static let standard = Self()

    package static let settings: [Setting<Self>] = dimensions + course

    /// When operations begin, and how the cases are run.
    private static let course: [Setting<Self>] = [
        Setting(
            "arrival",
            .spelling(
                placeholder: "ARRIVAL",
                help: "closed, or open:RATE such as open:100000",
                isRight: { text in
                    let arrival = Arrival(rawValue: text)
                    return arrival.map {
                        $0.operationsPerSecond ?? 1 <= ComparisonBounds.arrivalRateMax
                    } ?? false
                }
            ),
            \.arrival,
            "When operations begin. closed: a thread begins the next operation when the last one "
                + "has ended. open:RATE: operations begin at RATE per second in total, and the "
                + "response counts from when an operation should have begun; not over HTTP.",
            text: \.rawValue,
            value: { Arrival(rawValue: $0) }
        ),
        Setting(
            "duration",
            .spelling(
                placeholder: "TIME",
                help: "a time from 5ms to 60s, such as 200ms",
                isRight: { text in
                    let seconds = Measure.seconds.decimal(text)
                    return seconds.map(ComparisonBounds.durationSeconds.contains) ?? false
                }
            ),
            \.durationSeconds,
            default: "80ms",
            "The time for which a repeat is measured, such as 200ms or 2s; without a unit, in "
                + "seconds. Over HTTP it is in whole seconds, by default 1s.",
            text: { shortText($0) },
            value: { Measure.seconds.decimal($0) }
        ),
        .integer(
            "repeats",
            \.repeats,
            1...ComparisonBounds.repeatsMax,
            "The number of repeats of each case. Fewer than 3 cannot be ranked, fewer than 4 "
                + "cannot show two modes, and fewer than 5 say little about noise."
        ),
        .integer(
            "seed",
            \.seed,
            0...Int.max,
            "The seed for the order of the cases and everything random in them."
        ),
        .toggle(
            "force",
            \.isForced,
            "Begins on a busy machine, too, and ranks the figures of a debug build, and says so. "
                + "With --against or --baseline: compares all figures of such reports."
        ),
    ]

    /// The transport, and the lists whose combinations are the cases.
    private static let dimensions: [Setting<Self>] = [
        .choice(
            "transport",
            \.transport,
            "memory: threads of this process use a guarded value. http: a client sends requests to "
                + "a service that is started for each strategy."
        ),
        strategies(Catalogue()),
        current(Catalogue()),
        list(
            "threads",
            .integer(1...ComparisonBounds.threadsMax),
            \.threads,
            "Numbers of threads to measure; over HTTP numbers of connections, by default 4,32."
        ),
        list(
            "read-ratio",
            .decimal(0...1),
            \.readRatios,
            "The shares of operations that only read.",
            text: { shortText($0) },
            value: { Double($0) }
        ),
        list(
            "section",
            .integer(0...ComparisonBounds.workNanosecondsMax, unit: .nanoseconds),
            \.sectionNanoseconds,
            "The work inside the guarded section, such as 50ns or 10us; without a unit, in "
                + "nanoseconds. Not over HTTP, where the section is the service's."
        ),
        list(
            "outside",
            .spelling(
                placeholder: "N",
                help: "nanoseconds such as 200, or scaled:200, or with a unit such as 10us",
                isRight: { text in
                    let work = OutsideWork(rawValue: text)?.nanoseconds
                    return work.map { $0 <= ComparisonBounds.workNanosecondsMax } ?? false
                }
            ),
            \.outside,
            "The work of a thread between two operations, such as 200ns or 10us; without a unit, "
                + "in nanoseconds. scaled:N is N times the number of threads, so that the load on "
                + "the lock does not grow with the threads."
        ),
        list(
            "keys",
            .integer(1...ComparisonBounds.keysMax),
            \.keys,
            "Numbers of properties to measure."
        ),
        list(
            "skew",
            .spelling(
                placeholder: "SKEW",
                help: "uniform, or zipf:EXPONENT such as zipf:0.99",
                isRight: { KeySkew(rawValue: $0) != nil }
            ),
            \.skews,
            "How often each property is used. uniform: all equally often. zipf:EXPONENT, such as "
                + "zipf:0.99: a few far more often than the others."
        ),
        list(
            "stripes",
            .spelling(
                placeholder: "N",
                help: "powers of two from 1 to \(StripeCount.max)",
                isRight: { Int($0).map(StripeCount.isValid) ?? false }
            ),
            \.stripes,
            "Numbers of stripes to measure: powers of two from 1 to \(StripeCount.max). The "
                + "properties are spread over the stripes, each with its own lock."
        ),
    ]

    /// Whether a setting changes anything with this transport.
    package func hasMeaning(_ name: String) -> Bool {
        switch name {
        case "section": transport == .memory && workload == nil
        case "stripes": workload == nil
        case "transport": program == nil
        case "outside": transport == .memory && trace == nil
        case "read-ratio", "keys", "skew", "arrival": trace == nil
        case _: true
        }
    }

    /// The command that repeats the run.
    package var commandLine: String {
        let flags = Self.settings.filter { hasMeaning($0.name) && $0.name != "force" }
        return (program ?? "latchkey compare")
            + (trace.map { " --trace \($0.file) --speed \(shortText($0.speed))" } ?? "")
            + flags.map { " --\($0.name) \($0.text(in: self))" }.joined()
            + (isForced ? " --force" : "")
    }

    /// The settings of a program with strategies or a workload of its own.
    package static func settings(_ catalogue: Catalogue) -> [Setting<Self>] {
        settings.map { setting in
            switch setting.name {
            case "strategies": strategies(catalogue)
            case "current": current(catalogue)
            case _: setting
            }
        }
    }

    private static func current(_ catalogue: Catalogue) -> Setting<Self> {
        Setting(
            "current",
            .choice(catalogue.names.map(\.rawValue)),
            \.currentStrategy,
            "The strategy that you have. It stays, unless another is better by at least 10 % and "
                + "worse nowhere by more. With --from, too.",
            text: \.rawValue,
            value: { StrategyName(rawValue: $0) }
        )
    }

    private static func strategies(_ catalogue: Catalogue) -> Setting<Self> {
        let names = catalogue.names
        return Setting(
            "strategies",
            .list(.choice(names.map(\.rawValue) + ["all"])),
            \.strategies,
            default: "all",
            catalogue.strategies.isEmpty
                ? "The strategies to compare. 'latchkey strategies' prints them."
                : "The strategies to compare: "
                    + catalogue.strategies.map(\.name.rawValue).joined(separator: ", ")
                    + " of this program, and Latchkey's, which 'latchkey strategies' prints.",
            text: { $0.map(\.rawValue).joined(separator: ",") },
            value: { text in
                text == "all"
                    ? names
                    : text.split(separator: ",").map { StrategyName(rawValue: String($0)) }
            }
        )
    }

    private static func list<Value: RawRepresentable<String> & Sendable>(
        _ name: String,
        _ element: SettingValues.Element,
        _ path: any WritableKeyPath<Self, [Value]> & Sendable,
        _ help: String
    ) -> Setting<Self> {
        list(name, element, path, help, text: \.rawValue) { Value(rawValue: $0) }
    }

    private static func list(
        _ name: String,
        _ element: SettingValues.Element,
        _ path: any WritableKeyPath<Self, [Int]> & Sendable,
        _ help: String
    ) -> Setting<Self> {
        list(name, element, path, help, text: { "\($0)" }, value: { Int($0) })
    }

    private static func list<Value>(
        _ name: String,
        _ element: SettingValues.Element,
        _ path: any WritableKeyPath<Self, [Value]> & Sendable,
        _ help: String,
        text: @escaping @Sendable (Value) -> String,
        value: @escaping @Sendable (String) -> Value?
    ) -> Setting<Self> {
        Setting(name, .list(element), path, help) { list in
            list.map(text).joined(separator: ",")
        } value: { list in
            try? element.values(list).compactMap(value)
        }
    }
}
