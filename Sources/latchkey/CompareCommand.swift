internal import Foundation
internal import LatchkeyComparison
internal import LatchkeyReport
internal import LatchkeyService
internal import Synchronization

/// `latchkey compare`: which strategy, and why.
///
/// **Design.** The run is on the main thread. SIGINT, SIGTERM and SIGHUP only count: the run asks
/// for the count every few milliseconds, and the report then has what is finished. The second of a
/// kind ends the process at once, because the handler gives the signal back to the system; what
/// the run has started over HTTP dies with it.
enum CompareCommand {
    static let manual = """
        latchkey compare: measures what each strategy costs, and recommends one

        Usage: latchkey compare [--flag value | --flag=value ...]
               latchkey compare --from a.json [--json FILE ...] [--force]
               latchkey compare --from a.json --against b.json [--force]

        Prints a table and a recommendation. A flag with a list measures every value
        of it; several lists measure every combination. Ctrl-C ends the run early and
        prints what is finished.

        A FILE named - is standard output. The table goes to standard error then.

        Examples:
          latchkey compare
          latchkey compare --preset cache --threads 1..16 --html cache.html
          latchkey compare --strategies lock,spin,mutex --read-ratio 0,0.5,0.99
          latchkey compare --section 50ns,1us,10us --json - | jq .recommendation

        Status:
          0    finished; with --against, nothing is worse beyond the noise
          1    a strategy failed a check; with --against, something is worse
          2    the command line, a file or standard output cannot be used, or the run
               over HTTP failed
          130  ended early by Ctrl-C, SIGTERM or SIGHUP


        """ + CompareFlags.all.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let values = try FlagValues(CompareFlags.all, command: "compare", arguments: arguments)
        // A file-size limit is an error of that write, not the process's end.
        signal(SIGXFSZ, SIG_IGN)
        if values.isGiven("from") || values.isGiven("against") {
            try readFiles(values)
        } else {
            try measure(values)
        }
    }

    /// Prints an error, which may quote a file, and ends the program.
    private static func fail(_ message: String) -> Never {
        complain(TerminalStyle.withoutControls(message))
        exit(2)
    }

    private static func orFail<Result>(_ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            fail("\(error)")
        }
    }

    // MARK: Measuring

    private static let interrupts = Atomic<Int>(0)

    private static func measure(_ values: FlagValues) throws(UsageError) {
        let settings = try CompareFlags.settings(values)
        try checkOutput(values)
        watchInterrupts()
        var line = ProgressLine(descriptor: 2) { say($0, to: 2) }
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let run = orFail {
            try ComparisonRun(settings, version: Latchkey.version, executable: program)
        }
        var isAnnounced = false
        let outcome = orFail {
            try run.run(
                isInterrupted: { interrupts.load(ordering: .relaxed) > 0 },
                progress: { progress in
                    if !isAnnounced, let seconds = progress.remainingSeconds {
                        run.announcement(seconds: seconds).map { complain($0) }
                    }
                    isAnnounced = true
                    line.show(progress)
                }
            )
        }
        line.finish()
        var report = outcome.report
        guard !report.cases.isEmpty else {
            say("latchkey: interrupted before anything was finished.\n", to: 2)
            exit(130)
        }
        report.conclude(isForced: settings.isForced)
        show(report, values)
        if let failure = outcome.failure { fail(failure.message) }
        if report.isInterrupted { exit(130) }
        exit(status(of: report))
    }

    private static func status(of report: ComparisonReport) -> Int32 {
        report.verdicts.contains { $0.outcome == .failed } ? 1 : 0
    }

    /// The count is made before the handler can be called, since making it is not for a handler.
    ///
    /// The parent process may have blocked the signals, or set them to be ignored.
    /// That is undone but for SIGHUP: `nohup` ignores it on purpose.
    private static func watchInterrupts() {
        interrupts.store(0, ordering: .relaxed)
        var watched = EndingSignals.set
        for number in EndingSignals.numbers {
            signal(number) { number in
                CompareCommand.interrupts.add(1, ordering: .relaxed)
                signal(number, SIG_DFL)
            }
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &watched, nil)
    }

    // MARK: Files

    private static func readFiles(_ values: FlagValues) throws(UsageError) {
        for flag in CompareFlags.measuring where values.isGiven(flag.name) && flag.name != "force" {
            throw UsageError(
                "--from measures nothing, so \(values.source(flag)) has no meaning with it."
            )
        }
        guard values.isGiven("from") else {
            throw UsageError("--against needs --from, the earlier report.")
        }
        let isForced = values.isOn("force")
        var report = orFail { try ComparisonReport(file: values.text("from")) }
        guard values.isGiven("against") else {
            if isForced { report.conclude(isForced: true) }
            try checkOutput(values)
            show(report, values)
            exit(status(of: report))
        }
        for flag in CompareFlags.files where values.isGiven(flag.name) {
            throw UsageError("\(values.source(flag)) has no meaning with --against.")
        }
        let later = orFail { try ComparisonReport(file: values.text("against")) }
        let difference = orFail {
            try ReportDifference(from: report, against: later, isForced: isForced)
        }
        say(difference.text(style: TerminalStyle(descriptor: 1)))
        exit(difference.isWorse ? 1 : 0)
    }

    /// The name of standard output among files.
    private static let standardOutput = "-"

    /// Finds out before the run, not after it, that a report cannot be written.
    private static func checkOutput(_ values: FlagValues) throws(UsageError) {
        var sources = reservedFiles(values)
        for flag in CompareFlags.files where values.isGiven(flag.name) {
            let path = values.text(flag.name)
            if path != standardOutput { orFail { try ReportFile.checkCanWrite(path) } }
            let file = path == standardOutput ? path : ReportFile.target(of: path)
            guard let target = file else { continue }
            if let other = sources.updateValue(values.source(flag), forKey: target) {
                throw UsageError("\(other) and \(values.source(flag)) name the same file.")
            }
        }
    }

    /// Files that no report may replace, by what they are: what is read, and where text goes.
    private static func reservedFiles(_ values: FlagValues) -> [String: String] {
        var files = [("/dev/stderr", "standard error"), ("/dev/stdout", "standard output")]
        if values.isGiven("from") {
            files.append((values.text("from"), values.source(CompareFlags.from)))
        }
        let targets = files.compactMap { path, name in
            ReportFile.target(of: path).map { ($0, name) }
        }
        return Dictionary(targets, uniquingKeysWith: { $1 })
    }

    /// Writes the files that were asked for, as many as can be written, and prints the report.
    ///
    /// The files come first, because standard output that cannot be written ends the program. If a
    /// report goes there, the table goes to standard error.
    private static func show(_ report: ComparisonReport, _ values: FlagValues) {
        var isWritten = true
        var printed: [UInt8]?
        func write(_ name: String, _ make: () throws -> [UInt8]) {
            guard values.isGiven(name) else { return }
            do {
                let bytes = try make()
                if values.text(name) == standardOutput {
                    printed = bytes
                } else {
                    try ReportFile.write(bytes, to: values.text(name))
                }
            } catch {
                complain("\(error)")
                isWritten = false
            }
        }
        write("json") { try report.json() }
        write("csv") { report.csv() }
        write("html") { try ReportPage(report).html() }
        let descriptor: Int32 = printed == nil ? 1 : 2
        say(
            TerminalReport(report, style: TerminalStyle(descriptor: descriptor)).text,
            to: descriptor
        )
        if let printed {
            let isEnded = printed.last == UInt8(ascii: "\n")
            say(String(decoding: printed, as: UTF8.self) + (isEnded ? "" : "\n"))
        }
        if !isWritten { exit(2) }
    }
}
