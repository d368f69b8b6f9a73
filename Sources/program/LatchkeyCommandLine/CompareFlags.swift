package import LatchkeyComparison
internal import LatchkeySettings

/// The flags of `latchkey compare` and the settings they make.
package enum CompareFlags {
    package static let all = all(Catalogue())

    /// The flags that earlier versions had.
    package static let removed = [
        RemovedFlag("thread-mode", in: "0.2", "over HTTP, the service always has event loops.")
    ]

    /// The flags of a program with strategies or a workload of its own.
    static func all(_ catalogue: Catalogue) -> [Flag] {
        measuring(catalogue) + files + reports + [failBelow]
    }

    /// The flags while a report is read, which may have strategies of another program.
    static func reading(_ catalogue: Catalogue) -> [Flag] {
        all(catalogue).map { flag in
            flag.name == current
                ? Flag(current, .text(placeholder: "NAME"), default: flag.defaultText, flag.help)
                : flag
        }
    }

    static let current = "current"

    private static let preset = Flag(
        "preset",
        .choice(ComparisonPreset.allCases.map(\.rawValue)),
        default: "",
        "A well-known workload, which other flags change. "
            + ComparisonPreset.allCases.map { "\($0.rawValue): \($0.meaning)." }
            .joined(separator: " ")
    )

    static let trace = file(
        "trace",
        "Replays the operations of this file, which 'latchkey serve --record' has written, at "
            + "their times. --duration is the part of it that a repeat measures, 2s unless given."
    )

    static let speed = Flag(
        "speed",
        .spelling(
            placeholder: "X",
            help: "a number from 0.001 to 1000",
            isRight: { Double($0).map((0.001...1000).contains) ?? false }
        ),
        default: "1",
        "How many times faster than recorded a trace is replayed. A trace of 1/16 of the "
            + "operations has the whole rate again at 16."
    )

    /// The flags of the measurement.
    static func measuring(_ catalogue: Catalogue) -> [Flag] {
        let settings = ComparisonSettings.settings(catalogue).map { Flag($0) }
        let own = [preset, trace, speed]
        guard catalogue.program != nil else { return own + settings }
        // HTTP uses the service, and presets and traces belong to the built-in section.
        let missing = ["transport"] + (catalogue.workload == nil ? [] : ["section", "stripes"])
        return (catalogue.workload == nil ? own : [])
            + settings.filter { !missing.contains($0.name) }
    }

    /// The files that are written besides standard output.
    static let files = [
        file("json", "Also writes the report as JSON."),
        file("csv", "Also writes every repeat as a line of CSV."),
        html,
        markdown,
    ]

    static let html = file(
        "html",
        "Also writes the report as one page with plots. With --baseline: what changed, below it. "
            + "With --against: what changed, as a page."
    )

    static let markdown = file(
        "markdown",
        "Also writes the verdict, a table and the machine as Markdown of fewer than 40 lines, for "
            + "an issue or a pull request. With --baseline: what changed, below it. With "
            + "--against: only what changed."
    )

    /// The files that have a meaning with `--against`, too.
    static let filesOfDifferences = [html, markdown]

    private static let from = file(
        "from",
        "Reads a report from a JSON file, or as - from standard input, and measures nothing. "
            + "Prints it again, or with --against what changed. "
            + several,
        isRepeatable: true
    )

    private static let against = file(
        "against",
        "The later report, which is compared with that of --from. " + several,
        isRepeatable: true
    )

    private static let baseline = file(
        "baseline",
        "An earlier report. Prints the report of this run, or of --from, and then what changed "
            + "since. It is read before anything is measured. "
            + several,
        isRepeatable: true
    )

    private static let several = "It can be given several times, for several runs."

    static let failBelow = Flag(
        "fail-below",
        .spelling(
            placeholder: "X",
            help: "a number above 0, and at most 1",
            isRight: { Double($0).map { $0 > 0 && $0 <= 1 } ?? false }
        ),
        default: "",
        "With --baseline or --against: status 1 only if a throughput is surely less than this many "
            + "times the one before, or a check fails that did not."
    )

    /// Reports that are read.
    static let reports = [from, against, baseline]

    /// The files that are read, which written files must not replace.
    static let inputs = reports + [trace]

    private static func file(_ name: String, _ help: String, isRepeatable: Bool = false) -> Flag {
        let value = Flag.Value.text(placeholder: "FILE")
        return Flag(name, value, default: "", isRepeatable: isRepeatable, help)
    }

    /// How long a repeat replays a trace, at most.
    private static let replaySeconds = 2.0

    /// The settings that the flags make.
    package static func settings(
        _ values: FlagValues,
        _ catalogue: Catalogue = Catalogue(),
        replaying trace: ReplayedTrace? = nil
    ) throws(UsageError) -> ComparisonSettings {
        var settings = ComparisonSettings()
        settings.strategies = catalogue.names
        settings.workload = catalogue.workload?.name
        settings.program = catalogue.program
        settings.trace = trace?.source
        if catalogue.program == nil { settings.transport = values.choice("transport") }
        if settings.transport == .http { settings.useHTTPDefaults() }
        if trace != nil { settings.durationSeconds = replaySeconds }
        if catalogue.workload == nil, values.isGiven(preset.name) {
            let preset: ComparisonPreset = values.choice(preset.name)
            preset.apply(to: &settings)
            if settings.transport == .http { settings.haveNoWork() }
        }
        for flag in measuring(catalogue)
        where values.isGiven(flag.name) && !settings.hasMeaning(flag.name) {
            settings.trace = nil
            let place = settings.hasMeaning(flag.name) ? "with --trace" : "over HTTP"
            throw UsageError("\(values.source(flag)) has no meaning \(place).")
        }
        try values.set(in: &settings, ComparisonSettings.settings(catalogue))
        trace?.apply(to: &settings)
        do {
            try settings.validate(catalogue)
        } catch {
            throw UsageError(error.message)
        }
        return settings
    }
}
