extension ReportPage {
    /// What follows from the figures: scaling and checks.
    var findings: String {
        scaling + checks
    }

    private var scaling: String {
        guard !report.fits.isEmpty || !report.crossovers.isEmpty else { return "" }
        return """
            <section aria-labelledby="scaling"><h2 id="scaling">Scaling</h2>
            \(fits)\(crossovers)
            </section>

            """
    }

    private var fits: String {
        guard !report.fits.isEmpty else { return "" }
        func band(_ estimate: ComparisonReport.Estimate) -> String {
            "\(FigureText.fixed(estimate.value, 3)) (\(FigureText.fixed(estimate.low, 3))–"
                + "\(FigureText.fixed(estimate.high, 3)))"
        }
        let isOne = report.fits.map(\.workload).uniqued().count == 1
        let rows = report.fits.map { fit in
            let workload =
                isOne
                ? ""
                : "<td class=\"words\">"
                    + Markup.escape(WorkloadText.description(fit.workload)) + "</td>"
            let mark = report.describesSweep(fit) ? "" : " ?"
            return "<tr><th scope=\"row\">\(Markup.escape(fit.strategy))\(mark)</th>\(workload)"
                + "<td>\(FigureText.count(fit.singleThreadOperationsPerSecond.value))</td>"
                + "<td>\(band(fit.contention))</td><td>\(band(fit.coherency))</td>"
                + "<td>\(Markup.escape(report.peakText(fit)))</td>"
                + "<td>\(FigureText.fixed(fit.rSquared, 2))</td></tr>\n"
        }
        let heads =
            ["Strategy"] + (isOne ? [] : ["Workload"])
            + ["One thread/s", "Contention σ", "Coherency κ", "Peak threads", "R²"]
        let caption =
            "The Universal Scalability Law, fitted over the sweep of threads, with 95 % "
            + "bands. Contention is the share that is done one thread at a time; coherency is what "
            + "threads spend on agreeing with each other. The peak is one thread where the curve "
            + "never rises, and beyond the sweep where it still does at its end."
        let note =
            report.fits.allSatisfy(report.describesSweep)
            ? "" : "<p>\(Markup.sentence(ComparisonReport.missNote))</p>"
        return Self.wide(caption, label: "Scaling", heads, rows.prefix(200).joined()) + note
    }

    private static let crossoverCountMax = 60

    private var crossovers: String {
        guard !report.crossovers.isEmpty else {
            return "<p>No strategy overtakes another beyond the noise.</p>"
        }
        let namesWorkload = report.cases.map(\.workload).uniqued().count > 1
        let shown = report.crossovers.prefix(Self.crossoverCountMax).map {
            let text = WorkloadText.crossing($0, namesWorkload: namesWorkload)
            return "<li>\(Markup.sentence(text))</li>"
        }
        let left = report.crossovers.count - shown.count
        let more = left > 0 ? "<li>and \(left) more, which JSON has</li>" : ""
        return "<h3>Crossovers</h3><ul>\(shown.joined(separator: "\n"))\(more)</ul>"
    }

    private var checks: String {
        guard !report.verdicts.isEmpty else { return "" }
        typealias Check = ComparisonReport.Verdict.Check
        let names = report.verdicts.map(\.strategy).uniqued()
        let rows = names.map { name in
            let cells = Check.allCases.map { check in
                let verdict = report.verdicts.first { $0.strategy == name && $0.check == check }
                guard let verdict else { return "<td>–</td>" }
                let isBad = verdict.outcome == .failed ? " class=\"bad\"" : ""
                return "<td\(isBad)>\(verdict.outcome.rawValue), "
                    + "\(FigureText.count(Double(verdict.checkedCount)))</td>"
            }
            return "<tr><th scope=\"row\">\(Markup.escape(name))</th>\(cells.joined())</tr>\n"
        }
        let caption =
            "Whether each strategy did what it promises while it was measured, and how "
            + "many operations were checked: no update lost; no half-written pair read; a history "
            + "that one thread could have produced."
        let heads = ["Strategy", "Counts", "Torn reads", "Linearizability"]
        return """
            <section aria-labelledby="checks"><h2 id="checks">Checks</h2>
            \(Self.wide(caption, label: "Checks", heads, rows.joined()))</section>

            """
    }

    // MARK: How it was measured

    var details: String {
        """
        <section aria-labelledby="method"><h2 id="method">How it was measured</h2>
        <p>Repeats of all cases are interleaved in rotated order, each after a warm-up that is not \
        counted. An interval is a 95 % bootstrap interval of the median over the repeats; where \
        two overlap, no difference is claimed. It can be no wider than the repeats' range, which \
        holds the true median in 75 % of runs of three repeats and in 93.75 % of five. A case \
        whose repeats fall into two groups is ranked by the worse one.</p>
        \(report.settings.transport == .http ? "<p>\(HTTPComparison.method)</p>" : "")
        <p>To repeat it:</p>
        <pre><code>\(Markup.escape(report.settings.commandLine))</code></pre>
        \(Self.list(machine))
        <h3>Conditions</h3>
        \(Self.list(conditions))
        <h3>The instrument's own cost</h3>
        \(Self.list(instrument))
        </section>

        """
    }

    private var machine: [(String, String?)] {
        let print = report.fingerprint
        return [
            ("Mutex", "\(print.mutex.kind.rawValue). \(print.mutex.evidence)"),
            ("Processor", print.processorModel),
            (
                "Processors",
                "\(print.processorsOnline) online"
                    + (print.processorsAllowed.map { ", may use \($0)" } ?? "")
                    + (print.processorQuota.map { ", quota \(shortText($0))" } ?? "")
            ),
            ("Frequency governor", print.frequencyGovernor),
            ("Hypervisor", print.hypervisor),
            ("Architecture", print.architecture),
            ("Kernel", print.kernel),
            ("Operating system", print.operatingSystem),
            ("Memory", FigureText.count(Double(print.memoryBytes)) + "B"),
            ("Clock source", print.clockSource),
            ("Latchkey", "\(print.latchkeyVersion), \(print.configuration) build"),
            ("Swift", print.swiftVersionAtLeast + " or later"),
        ]
    }

    private var conditions: [(String, String?)] {
        let conditions = report.conditions
        func loads(_ loads: [Double]) -> String {
            loads.map { FigureText.fixed($0, 2) }.joined(separator: " ")
        }
        return [
            ("Ranking", conditions.ranking.rawValue),
            ("Load average before", loads(conditions.loadAverageBefore)),
            ("Load average after", loads(conditions.loadAverageAfter)),
            (
                "Other processes",
                conditions.foreignProcessors.map { FigureText.fixed($0, 2) + " processors busy" }
            ),
            ("Steal", conditions.stealRatio.map(FigureText.percent)),
            (
                "Throttled",
                conditions.throttledSeconds.map { FigureText.duration(nanoseconds: $0 * 1e9) }
            ),
            ("Run took", FigureText.waitingTime(seconds: report.elapsedSeconds)),
        ]
    }

    private var instrument: [(String, String?)] {
        let cost = report.instrument
        return [
            ("Reading the clock", FigureText.duration(nanoseconds: cost.clockNanoseconds)),
            (
                "The loop around an operation",
                FigureText.duration(nanoseconds: cost.loopNanosecondsPerOperation)
            ),
            (
                "Metering an operation",
                FigureText.duration(nanoseconds: cost.meteringNanosecondsPerOperation)
                    + ", 1 in \(cost.samplingMean) timed"
            ),
            ("Futex and system calls", cost.systemCallsMissingBecause),
        ]
    }

    private static func list(_ entries: [(String, String?)]) -> String {
        let items = entries.compactMap { name, value in
            value.map { "<dt>\(Markup.escape(name))</dt><dd>\(Markup.escape($0))</dd>\n" }
        }
        return "<dl>\n\(items.joined())</dl>"
    }
}
