internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyMachine
internal import LatchkeyReport
internal import LatchkeySettings

/// `latchkey top`: traffic and contention of a service, live.
struct TopCommand: ClientCommand {
    let name = "top"
    let operandCountMax = 1
    let ownFlags = [
        Flag.toggle(
            "once",
            "Prints the figures of one second, and ends. So does output that is no terminal."
        ),
        Flag.toggle("json", "Prints the figures of one second as JSON, and ends."),
    ]

    let introduction = """
        shows traffic and contention of a service in the terminal, live

        Usage: latchkey top [URL] [--once | --json]

        Each second it shows what happened in the last one: requests by status, and for
        each strategy the share of accesses that waited, and bounds that 99 % of waits
        and holds do not exceed. Which property, prefix and token have the most requests
        is of the last one or two minutes, and only of what the token may see. q or
        Ctrl-C ends it. With --json:
        {"url":…,"requests":{"2xx":…}, "properties":…,"strategy":…,"strategies":[…],
        "traffic":{"names":[…],"prefixes":[…],"tokens":[…]}}
        """

    private let period = 1.0

    func run(_ values: FlagValues, _ client: Client) throws(ClientFailure) {
        var client = client
        if let address = values.operands.first {
            var settings = try ClientFlags.settings(values)
            guard ServiceAddress(address) != nil else {
                throw ClientFailure(.usage, "'\(address)' is not the address of a service.")
            }
            settings.url = address
            client = try settings.client()
        }
        let source = TopSource(client)
        let isJSON = values.isOn("json")
        guard !isJSON, !values.isOn("once"), isatty(0) == 1, isatty(1) == 1 else {
            let earlier = try source.reading()
            Thread.sleep(forTimeInterval: period)
            let frame = try source.frame(since: earlier)
            guard !isJSON else { return try ClientOutput.write(line: frame.json) }
            let lines = frame.lines(width: TerminalStyle(descriptor: 1).width)
            return try ClientOutput.write(lines.joined(separator: "\n") + "\n")
        }
        try show(source)
    }

    private func show(_ source: TopSource) throws(ClientFailure) {
        var earlier = try source.reading()
        let screen = TopScreen()
        screen.draw(["latchkey top  \(source.origin)", "", "One second for the first figures."])
        while screen.waits(seconds: period) {
            do throws(ClientFailure) {
                let frame = try source.frame(since: earlier)
                earlier = frame.later
                screen.draw(frame.lines(width: screen.width) + ["", "q ends"])
            } catch  where error.status == .failed {
                screen.draw(["latchkey top  \(source.origin)", "", error.message, "", "q ends"])
            }
        }
    }
}

/// The service that is watched.
private struct TopSource {
    let client: Client

    init(_ client: Client) {
        self.client = client
    }

    var origin: String { client.origin }

    func reading() throws(ClientFailure) -> TopReading {
        let text = try client.send(ClientRequest(.get, "/metrics")).text
        return TopReading(text: text, seconds: Double(BootTime.now) / 1e9)
    }

    func frame(since earlier: TopReading) throws(ClientFailure) -> TopFrame {
        let contention = try client.send(ClientRequest(.get, "/v1/contention")).json
        let overview = try client.send(ClientRequest(.get, "/v1/overview")).json
        return TopFrame(
            origin: origin,
            earlier: earlier,
            later: try reading(),
            hottest: contention?["hottest"]?.string,
            busiest: overview?["traffic"],
            now: Date().timeIntervalSince1970
        )
    }
}

/// The terminal while it shows pictures; its former content comes back.
private final class TopScreen {
    private var former = termios()
    private let signals = WaitedSignals()

    init() {
        unsafe tcgetattr(0, &former)
        var changed = former
        // Keys come at once, are not shown, and Ctrl-C is one of them.
        changed.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        unsafe tcsetattr(0, TCSANOW, &changed)
        trySay("\u{1B}[?1049h\u{1B}[?25l")
    }

    deinit {
        trySay("\u{1B}[?25h\u{1B}[?1049l")
        unsafe tcsetattr(0, TCSANOW, &former)
    }

    var width: Int { max(20, Terminal.columns(1)) }

    /// Draws over the picture before, so that nothing flickers.
    func draw(_ lines: [String]) {
        trySay("\u{1B}[H" + lines.map { $0 + "\u{1B}[K\r\n" }.joined() + "\u{1B}[J")
    }

    /// Waits; false if a key or a signal asks to end.
    func waits(seconds: Double) -> Bool {
        let end = BootTime.now + UInt64(seconds * 1e9)
        while BootTime.now < end {
            if let signal = signals.next(), WaitedSignals.ending.contains(signal) { return false }
            var keys = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&keys, 1, 100) > 0 else { continue }
            var key: UInt8 = 0
            guard unsafe read(0, &key, 1) == 1, ![0x71, 0x51, 0x03, 0x04].contains(key) else {
                return false
            }
        }
        return true
    }
}
