extension Rule {
    /// Functions that need ICU's data, which the program does not have (`CLatchkeyLocales`).
    private static let functionsWithLocales = [
        "Calendar", "DateFormatter", "Locale", "MeasurementFormatter", "NSRegularExpression",
        "NumberFormatter", "RelativeDateTimeFormatter", "TimeZone", "localizedCompare",
        "localizedDescription", "localizedStandardCompare",
    ]

    static let locales = Rule(
        "no source uses languages, calendars or time zones",
        files: .swiftSources,
        broken: [
            Tree(["Sources/A/A.swift": "let a = Calendar.current\n"]),
            Tree(["Sources/A/A.swift": "let a = date.formatted(date: .long, time: .omitted)\n"]),
        ],
        kept: [
            Tree([
                "Sources/A/A.swift": """
                // In the user's Locale.
                let a = date.formatted(.iso8601), AllLocales(b)

                """
            ])
        ]
    ) { file in
        file.code.enumerated().compactMap { index, line in
            let words = Set(line.split { !$0.isLetter && !$0.isNumber }.map(String.init))
            let found = functionsWithLocales.first(where: words.contains)
            let formats = line.split(separator: ".formatted(").dropFirst()
                .contains { !$0.hasPrefix(".iso8601") }
            guard let name = found ?? (formats ? "formatted" : nil) else { return nil }
            return (index + 1, "\(name) needs ICU's data, which the program does not have")
        }
    }
}
