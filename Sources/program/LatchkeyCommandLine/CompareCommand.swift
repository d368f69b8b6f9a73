internal import Foundation
package import LatchkeyComparison
internal import LatchkeyMachine
internal import LatchkeyReport
internal import LatchkeySettings
internal import Synchronization

/// `latchkey compare`, and the command line of a program with a ``Lab``: which strategy to use, and
/// why.
///
/// **Design.** The run is on the main thread. The handler of the first SIGINT, SIGTERM or SIGHUP
/// only stores its time: the run looks at it every few milliseconds, and the report then has the
/// finished repeats. A later signal, which did not come together with the first one, ends the
/// process at once, because the handler gives the signal back to the system; services that the run
/// has started over HTTP end with it.
package enum CompareCommand {
    package static let manual = """
        latchkey compare: measures what each strategy costs, and recommends one

        Which strategy should guard my state?
            latchkey compare
            A table of all strategies on 1 to 8 threads in about a minute, and the one
            to take, with the condition under which the answer changes.

        Which one for a cache, on this machine, with a page to show?
            latchkey compare --preset cache --threads 1..16 --html cache.html
            The same for 1024 entries and 95 % reads, and a page with plots.

        How do three of them change with the share of reads, or the length of a section?
            latchkey compare --strategies lock,spin,mutex --read-ratio 0,0.5,0.99
            latchkey compare --section 50ns,1us,10us --json - | jq .recommendation
            One table for each value; the whole report, or a part of it, as JSON.

        Did a change make it slower?
            latchkey compare --json a.json
            latchkey compare --json b.json
            latchkey compare --from a.json --against b.json
            A run before and one after the change; then what is better or worse beyond
            the noise. Status 1 if something is worse. Three runs of each, as --from a1.json
            --from a2.json ..., find less by chance.

        Is a pull request slower than the main branch, by a tenth at least?
            latchkey compare --baseline main.json --fail-below 0.9 --markdown -
            The report, and then what changed. Status 1 if a throughput is surely less
            than 0.9 of what it was.

        Usage: latchkey compare [--baseline a.json] [--flag value | --flag=value ...]
               latchkey compare --from a.json [--current NAME] [--json FILE ...] [--force]
               latchkey compare --from a.json --against b.json [--html FILE ...] [--force]

        A flag with a list measures every value of it; several lists measure every
        combination. Ctrl-C ends the run early and prints what is finished. A run waits
        up to 30 s for a quiet machine.

        A FILE named - is standard output. The table goes to standard error then. After
        --from, --against or --baseline it is standard input.

        Status:
          0    finished; with --against or --baseline, nothing is worse beyond the noise
          1    a strategy failed a check; with --against or --baseline, something is worse
          2    the command line, a file or standard output cannot be used, or the run
               over HTTP failed
          130  ended early by Ctrl-C, SIGTERM or SIGHUP


        """ + CompareFlags.all.map(\.manual).joined(separator: "\n")

    /// The manual of a program with strategies or a workload of its own.
    package static func manual(_ catalogue: Catalogue) -> String {
        let program = catalogue.program ?? "latchkey compare"
        var subjects = catalogue.strategies.map(\.name.rawValue)
        if let workload = catalogue.workload { subjects.append("the workload '\(workload.name)'") }
        let usage = """
            \(program): measures what each strategy costs, and recommends one

            Usage: \(program) [--baseline a.json] [--flag value | --flag=value ...]
                   \(program) --from a.json [--current NAME] [--json FILE ...] [--force]
                   \(program) --from a.json --against b.json [--html FILE ...] [--force]

            A FILE named - is standard output. The table goes to standard error then.
            After --from, --against or --baseline it is standard input.

            Adds to Latchkey's strategies: \(subjects.joined(separator: ", ")).
            Ctrl-C ends the run early and prints what is finished.

            Status:
              0    finished; with --against or --baseline, nothing is worse beyond the noise
              1    a strategy failed a check; with --against or --baseline, something is worse
              2    the command line, a file or standard output cannot be used
              130  ended early by Ctrl-C, SIGTERM or SIGHUP


            """
        return usage + CompareFlags.all(catalogue).map(\.manual).joined(separator: "\n")
    }

    /// Measures, or reads reports.
    ///
    /// - Parameters:
    ///   - arguments: The arguments after the command's name.
    ///   - catalogue: The program's additions to the comparison.
    /// - Throws: The error in the arguments. Otherwise the program may end here.
    package static func run(
        _ arguments: [String],
        _ catalogue: Catalogue = Catalogue()
    ) throws(UsageError) {
        let reads = arguments.contains { $0 == "--from" || $0.hasPrefix("--from=") }
        let values = try FlagValues(
            reads ? CompareFlags.reading(catalogue) : CompareFlags.all(catalogue),
            removed: catalogue.program == nil ? CompareFlags.removed : [],
            command: catalogue.program ?? "latchkey compare",
            arguments: arguments
        )
        // A file-size limit is an error of that write, not the process's end.
        signal(SIGXFSZ, SIG_IGN)
        if ["from", "against"].contains(where: values.isGiven) {
            try readFiles(values, catalogue)
        } else {
            try measure(values, catalogue)
        }
    }

    /// Prints an error, which may quote a file, and ends the program.
    static func fail(_ message: String) -> Never {
        complain(TerminalStyle.withoutControls(message))
        exit(2)
    }

    static func orFail<Result>(_ body: () throws -> Result) -> Result {
        do {
            return try body()
        } catch {
            fail("\(error)")
        }
    }

    // MARK: Measuring

    /// When the first signal came, in nanoseconds; 0 before.
    private static let interruptedAt = Atomic<UInt64>(0)
    /// A signal within this time after the first one came together with it: a terminal and a
    /// program that started this one both send it.
    private static let repeatNanoseconds: UInt64 = 500_000_000
    private static var isInterrupted: Bool { interruptedAt.load(ordering: .relaxed) > 0 }

    /// Threads beside those that are measured.
    private static let threadCountOver = 8

    private static func measure(
        _ values: FlagValues,
        _ catalogue: Catalogue
    ) throws(UsageError) {
        let trace = try replayedTrace(values, catalogue)
        let settings = try CompareFlags.settings(values, catalogue, replaying: trace)
        let baseline = try Baseline(values)
        try checkOutput(values)
        let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path
        let run = orFail {
            try ComparisonRun(
                settings,
                version: latchkeyVersion,
                executable: program,
                catalogue: catalogue,
                trace: trace
            )
        }
        orFail { try baseline?.check(run) }
        let threadsMax = max(settings.threads.max() ?? 1, StrategyVerdicts.threadsMax)
        let threadCount = threadsMax + threadCountOver
        if let reason = ThreadRoom.refusal(of: threadCount) { fail(reason) }
        watchInterrupts()
        var line = ProgressLine(descriptor: 2) { say($0, to: 2) }
        var isAnnounced = false
        let outcome = orFail {
            try run.run(
                isInterrupted: { isInterrupted },
                whenReady: { if !settings.isForced { awaitQuiet() } },
                undecided: \.undecided,
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
        guard !report.cases.isEmpty || status(of: report) != 0 else {
            complain("interrupted before anything was finished.")
            exit(130)
        }
        let own = catalogue.strategies.filter { settings.strategies.contains($0.name) }
        if !own.isEmpty {
            report.ownStrategies = own.map { .init($0.name.rawValue, $0.traits) }
        }
        report.conclude(isForced: settings.isForced)
        end(report, values, baseline, failure: outcome.failure?.message)
    }

    private static func replayedTrace(
        _ values: FlagValues,
        _ catalogue: Catalogue
    ) throws(UsageError) -> ReplayedTrace? {
        guard catalogue.workload == nil else { return nil }
        guard values.isGiven(CompareFlags.trace.name) else {
            guard !values.isGiven(CompareFlags.speed.name) else {
                throw UsageError(
                    "\(values.source(CompareFlags.speed)) has no meaning without --trace."
                )
            }
            return nil
        }
        return orFail {
            try TraceFile.read(
                values.text(CompareFlags.trace.name),
                speed: Double(values.text(CompareFlags.speed.name)) ?? 1
            )
        }
    }

    private static func awaitQuiet() {
        QuietMachine.wait(
            isInterrupted: { isInterrupted },
            say: { complain(TerminalStyle.withoutControls($0)) }
        )
    }

    static func status(of report: ComparisonReport) -> Int32 {
        report.verdicts.contains { $0.outcome == .failed } ? 1 : 0
    }

    /// The variable of the time is made before the handler can be called, because a handler must
    /// not make it.
    ///
    /// The parent process may have blocked the signals, or set them to be ignored.
    /// That is undone except for SIGHUP: `nohup` ignores it on purpose.
    private static func watchInterrupts() {
        interruptedAt.store(0, ordering: .relaxed)
        var watched = EndingSignals.set
        for number in EndingSignals.numbers {
            signal(number) { number in
                var time = timespec()
                unsafe clock_gettime(CLOCK_MONOTONIC, &time)
                let now = UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
                let first = CompareCommand.interruptedAt.compareExchange(
                    expected: 0,
                    desired: now,
                    ordering: .relaxed
                )
                guard !first.exchanged, now - first.original >= CompareCommand.repeatNanoseconds
                else { return }
                signal(number, SIG_DFL)
                raise(number)
            }
        }
        unsafe pthread_sigmask(SIG_UNBLOCK, &watched, nil)
    }
}
