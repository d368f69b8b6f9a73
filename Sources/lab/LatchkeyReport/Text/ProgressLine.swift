internal import Foundation
package import LatchkeyComparison
internal import LatchkeyMachine
internal import LatchkeyVerdict

/// Progress on standard error: a bar that is redrawn in place on a terminal, otherwise a line for
/// each tenth of the run.
package struct ProgressLine {
    private let isTerminal: Bool
    private let width: Int
    private let write: (String) -> Void
    private var drawnPercent = -1
    private var drawnSeconds = -Double.infinity

    /// The shortest time between two drawings on a terminal.
    private static let drawSeconds = 0.1
    private static let logPercentStep = 10

    /// - Parameters:
    ///   - isTerminal: whether the output can be overwritten.
    ///   - width: the columns of the terminal.
    ///   - write: writes text as it is.
    package init(isTerminal: Bool, width: Int, write: @escaping (String) -> Void) {
        self.isTerminal = isTerminal
        self.width = width
        self.write = write
    }

    /// Progress on the descriptor, drawn if it is a terminal.
    package init(descriptor: Int32, write: @escaping (String) -> Void) {
        let columns = Terminal.columns(descriptor)
        let isDumb = ProcessInfo.processInfo.environment["TERM"] == "dumb"
        self.init(
            isTerminal: isatty(descriptor) == 1 && !isDumb,
            width: columns > 0 ? columns : 80,
            write: write
        )
    }

    package mutating func show(_ progress: ComparisonProgress) {
        let ratio = Double(progress.finishedCount) / Double(max(1, progress.totalCount))
        let percent = Int(ratio * 100)
        let time = progress.remainingSeconds.map(FigureText.waitingTime)
        let left = time.map { ", \($0) left" } ?? ""
        if isTerminal {
            guard progress.elapsedSeconds - drawnSeconds >= Self.drawSeconds || percent == 100
            else { return }
            drawnSeconds = progress.elapsedSeconds
            let barWidth = min(40, max(10, width / 4))
            let filled = min(barWidth, Int(ratio * Double(barWidth)))
            let line =
                String(repeating: "█", count: filled)
                + String(repeating: "░", count: barWidth - filled)
                + " \(progress.finishedCount)/\(progress.totalCount)\(left)  \(progress.current)"
            write("\r" + line.prefix(max(20, width - 1)) + "\u{1B}[K")
        } else {
            let step = percent / Self.logPercentStep * Self.logPercentStep
            guard step > drawnPercent else { return }
            drawnPercent = step
            write("latchkey: \(percent) % done\(left), now \(progress.current)\n")
        }
    }

    /// Removes the bar, so that the next text begins on a clean line.
    package func finish() {
        if isTerminal {
            write("\r\u{1B}[K")
        }
    }
}
