internal import Glibc
internal import LatchkeyMachine

extension TerminalStyle {
    /// How wide text is that goes to no terminal: to a file or a pipe.
    private static let widthElsewhere = 120

    /// What the descriptor's reader can show: colour on a terminal only, and not where `NO_COLOR`
    /// or `TERM=dumb` says no.
    ///
    /// `COLUMNS` stands in for a width that is not known.
    package init(descriptor: Int32) {
        let isTerminal = isatty(descriptor) == 1
        let columns = Terminal.columns(descriptor)
        let given = Self.variable("COLUMNS").flatMap { Int($0) } ?? 0
        let wish = given > 0 ? given : Self.widthElsewhere
        let allowsColor =
            (Self.variable("NO_COLOR") ?? "").isEmpty && Self.variable("TERM") != "dumb"
        self.init(width: columns > 0 ? columns : wish, usesColor: isTerminal && allowsColor)
    }

    private static func variable(_ name: String) -> String? {
        unsafe getenv(name).map { unsafe String(cString: $0) }
    }
}

extension ProgressLine {
    /// Progress on the descriptor, drawn if it is a terminal.
    package init(descriptor: Int32, write: @escaping (String) -> Void) {
        let columns = Terminal.columns(descriptor)
        let isDumb = unsafe getenv("TERM").map { unsafe String(cString: $0) } == "dumb"
        self.init(
            isTerminal: isatty(descriptor) == 1 && !isDumb,
            width: columns > 0 ? columns : 80,
            write: write
        )
    }
}
