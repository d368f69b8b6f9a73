import LatchkeyComparison
import LatchkeyReport
import LatchkeyVerdict

/// The run of `latchkey compare` with its defaults whose figures the documents give.
///
/// So one thing has one figure everywhere. `make figures` records another run.
struct RecordedRun {
    static let path = "docs/figures/compare.json"

    private let report: ComparisonReport

    /// Nil if there is no such file, or one that is no report.
    init?(_ tree: Tree) {
        guard let text = tree.file(Self.path)?.text,
            let report = try? ComparisonReport(json: Array(text.utf8), source: Self.path)
        else { return nil }
        self.report = report
    }

    /// The lines that `make` makes of the run.
    static func lines(_ tree: Tree, _ make: (RecordedRun) -> [String]) -> [String] {
        RecordedRun(tree).map(make) ?? ["\(path) is missing, or no report."]
    }

    // MARK: Tables

    /// The run, and throughput by strategy and threads, with waits, processor time and fairness at
    /// the greatest number of threads.
    var everything: [String] {
        let head = ["wait p50", "wait p99", "wait max", "time/op", "Jain"]
        return ["One run, \(report.day): \(report.machine).", ""]
            + table(["Strategy"] + counts.map { "\($0)" } + head) { name in
                let summary = found(name, most)?.summary
                let wait = summary?.wait
                return counts.map { count(name, $0) }
                    + [
                        wait.map { FigureText.quantile(nanoseconds: $0.p50Nanoseconds) },
                        wait.map { FigureText.quantile(nanoseconds: $0.p99Nanoseconds) },
                        wait.map { FigureText.duration(nanoseconds: $0.maxNanoseconds) },
                        (summary?.cpuSecondsPerMillionOperations).map {
                            FigureText.duration(nanoseconds: $0 * 1_000)
                        },
                        (summary?.jainIndex).map { FigureText.fixed($0, 2) },
                    ].map { $0 ?? "–" }
            } + ["", "Without a lock, one thread completes \(unguarded) operations a second."]
    }

    private func table(_ head: [String], _ cells: (String) -> [String]) -> [String] {
        let marks = head.map { _ in "---" }
        let rows = report.settings.strategies.map { ["`\($0.rawValue)`"] + cells($0.rawValue) }
        return ([head, marks] + rows).map { "| " + $0.joined(separator: " | ") + " |" }
    }

    // MARK: Sentences

    /// The three lines of the verdict, and where that was.
    var verdict: [String] {
        let found = report.recommendation
        let lines = [found?.sentence, found?.flip].compactMap(\.self) + (found?.news ?? [])
        return (lines + report.conditions.disturbances).map { "> \($0)\\" }
            + ["> (\(report.day), \(report.machine))"]
    }

    /// A lock against a queue, and how long a thread can wait.
    var whichLock: [String] {
        [
            "- **A lock, not a queue.** With \(most) threads and short sections, `lock` does "
                + "\(count("lock", most)) operations a second,",
            "  and `serial-queue` \(count("serial-queue", most)): \(times) times fewer.",
            "- **Most locks are not fair.** The longest wait was \(longest("lock")) under `lock`, "
                + "\(longest("adaptive")) under `adaptive`,",
            "  \(longest("spin")) under `spin` and \(longest("serial-queue")) under "
                + "`serial-queue`.",
        ]
    }

    /// The choices to avoid.
    var avoided: [String] {
        let queue = [
            "- **A queue as a lock.** With \(most) threads and short sections, `serial-queue` does "
                + "\(times) times fewer operations",
            "  than `lock`, because each hand-over is a context switch.",
        ]
        // The other `Mutex` is not handed over.
        guard report.fingerprint.mutex.kind == .priorityInheritingFutex else { return queue }
        return queue + [
            "- **`mutex` with more threads than processors.** With Swift 6.3.1 and earlier on "
                + "Linux, the kernel hands `Mutex` to the",
            "  next thread at every contended unlock. With 2 threads it does "
                + "\(count("mutex", 2)) operations a second, with \(most) threads "
                + "\(count("mutex", most)).",
        ]
    }

    /// The cost of a queue.
    var queue: [String] {
        [
            "With \(most) threads and short sections, `lock` does \(times) times as many "
                + "operations as `serial-queue`: each hand-over",
            "of a queue is a context switch, and each asynchronous block an allocation.",
        ]
    }

    // MARK: Figures

    private var counts: [Int] { Set(report.cases.map(\.threads)).sorted() }
    private var most: Int { counts.last ?? 0 }

    private func found(_ name: String, _ threads: Int) -> ComparisonReport.Case? {
        report.cases.first { $0.strategy == name && $0.threads == threads }
    }

    private func count(_ name: String, _ threads: Int) -> String {
        guard let summary = found(name, threads)?.summary else { return "–" }
        return (summary.isBistable ? "~" : "")
            + FigureText.count(summary.operationsPerSecond.median)
    }

    private func longest(_ name: String) -> String {
        (found(name, most)?.summary.wait?.maxNanoseconds).map(FigureText.duration) ?? "–"
    }

    private var times: String {
        guard let lock = found("lock", most)?.summary.operationsPerSecond.median,
            let queue = found("serial-queue", most)?.summary.operationsPerSecond.median
        else { return "–" }
        return FigureText.count((lock / queue).rounded())
    }

    private var unguarded: String {
        let found = report.baselines.first { $0.strategy == "unsynchronized" && $0.threads == 1 }
        return found.map { FigureText.count($0.summary.operationsPerSecond.median) } ?? "–"
    }
}
