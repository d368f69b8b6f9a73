internal import LatchkeyComparison
internal import LatchkeySettings

/// The flags of `latchkey compare` and the settings they make.
enum CompareFlags {
    static var all: [Flag] { measuring + files + reports }

    private static let preset = Flag(
        "preset",
        .choice(ComparisonPreset.allCases.map(\.rawValue)),
        default: "",
        "A well-known workload, which other flags change. "
            + ComparisonPreset.allCases.map { "\($0.rawValue): \($0.meaning)." }
            .joined(separator: " ")
    )

    /// What is measured, and how.
    static let measuring = [preset] + ComparisonSettings.settings.map { Flag($0) }

    /// What is written besides standard output.
    static let files = [
        file("json", "Also writes the report as JSON."),
        file("csv", "Also writes every repeat as a line of CSV."),
        html,
        markdown,
    ]

    static let html = file(
        "html",
        "Also writes the report as one page with plots. With --against: what changed, as a page."
    )

    static let markdown = file(
        "markdown",
        "Also writes the verdict, a table and the machine as Markdown of fewer than 40 lines, for "
            + "an issue or a pull request. With --against: what changed."
    )

    /// What has a meaning with `--against`, too.
    static let filesOfDifferences = [html, markdown]

    static let from = file(
        "from",
        "Reads a report from a JSON file and measures nothing. Prints it again, or with --against "
            + "what changed."
    )

    private static let reports = [
        from, file("against", "The later report, which is compared with that of --from."),
    ]

    private static func file(_ name: String, _ help: String) -> Flag {
        Flag(name, .text(placeholder: "FILE"), default: "", help)
    }

    /// The settings that the flags make.
    static func settings(_ values: FlagValues) throws(UsageError) -> ComparisonSettings {
        var settings = ComparisonSettings()
        settings.transport = values.choice("transport")
        if settings.transport == .http { settings.useHTTPDefaults() }
        if values.isGiven(preset.name) {
            let preset: ComparisonPreset = values.choice(preset.name)
            preset.apply(to: &settings)
            if settings.transport == .http { settings.haveNoWork() }
        }
        for flag in measuring where values.isGiven(flag.name) && !settings.hasMeaning(flag.name) {
            throw UsageError(
                "\(values.source(flag)) has "
                    + (settings.transport == .http
                        ? "no meaning over HTTP." : "a meaning over HTTP only.")
            )
        }
        try values.set(in: &settings)
        do {
            try settings.validate()
        } catch {
            throw UsageError(error.message)
        }
        return settings
    }
}
