package import LatchkeyComparison

/// Progress on standard error: a bar that is drawn over itself on a terminal, otherwise a plain
/// line now and then.
package struct ProgressLine {
    private let isTerminal: Bool
    private let width: Int
    private let write: (String) -> Void
    private var drawnPercent = -1
    private var drawnSeconds = -Double.infinity

    /// A terminal is drawn at most this often; a log gets a line for each tenth.
    private static let drawSeconds = 0.1
    private static let logPercentStep = 10

    /// - Parameters:
    ///   - isTerminal: whether what is written can be drawn over.
    ///   - width: the columns of the terminal.
    ///   - write: writes text as it is.
    package init(isTerminal: Bool, width: Int, write: @escaping (String) -> Void) {
        self.isTerminal = isTerminal
        self.width = width
        self.write = write
    }

    package mutating func show(_ progress: ComparisonProgress) {
        let ratio = Double(progress.finishedCount) / Double(max(1, progress.totalCount))
        let percent = Int(ratio * 100)
        if isTerminal {
            guard progress.elapsedSeconds - drawnSeconds >= Self.drawSeconds || percent == 100
            else { return }
            drawnSeconds = progress.elapsedSeconds
            write("\r" + bar(progress, ratio: ratio) + "\u{1B}[K")
        } else {
            let step = percent / Self.logPercentStep * Self.logPercentStep
            guard step > drawnPercent else { return }
            drawnPercent = step
            write("latchkey: \(percent) % done\(left(progress)), now \(progress.current)\n")
        }
    }

    /// Takes the bar away, so that what follows begins on a clean line.
    package func finish() {
        if isTerminal {
            write("\r\u{1B}[K")
        }
    }

    private func bar(_ progress: ComparisonProgress, ratio: Double) -> String {
        let figures = " \(progress.finishedCount)/\(progress.totalCount)\(left(progress))  "
        let barWidth = min(40, max(10, width / 4))
        let filled = min(barWidth, Int(ratio * Double(barWidth)))
        let bar =
            String(repeating: "█", count: filled)
            + String(repeating: "░", count: barWidth - filled)
        return String((bar + figures + progress.current).prefix(max(20, width - 1)))
    }

    private func left(_ progress: ComparisonProgress) -> String {
        progress.remainingSeconds.map { ", \(FigureText.waitingTime(seconds: $0)) left" } ?? ""
    }
}
