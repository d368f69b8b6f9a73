internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyContention
internal import LatchkeyMachine
internal import LatchkeyReport
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey advise`: the cost of a running service's lock, and the most that another strategy
/// could save.
enum AdviseCommand {
    private static let ownFlags = [
        Flag(
            "seconds",
            .integer(1...3600, unit: .seconds),
            default: "10",
            "The time for which the service is watched."
        ),
        Flag(
            "json",
            .text(placeholder: "FILE"),
            default: "",
            "Also writes the answer as JSON. - is standard output; the text goes to standard error."
        ),
    ]

    static let flags = ownFlags + ClientFlags.all

    static let manual = """
        latchkey advise: says what the lock of a running service costs

        Usage: latchkey advise [URL] [--flag value | --flag=value ...]

        Without a URL it asks the service of --url.

        Reads the meters of the service twice, so that the answer is about its traffic
        now: the lock's share of the busy time (how long an access holds it, times the
        accesses in a second), the waits there are, and the most that another strategy
        could save. That is the waits, since the work under the lock stays, whatever
        guards it. The busy time is the service's processor time and the time in which
        its threads wait for the lock. No strategy is named: 'latchkey compare' measures
        them.

        Status:
          0    there is an answer
          2    the command line cannot be used, or the service gives no figures


        """ + flags.map(\.manual).joined(separator: "\n")

    static func run(_ arguments: [String]) throws(UsageError) {
        let (values, source) = try source(arguments)
        let file = values.text("json")
        do throws(UnusableService) {
            let advice = Advice(try source.observe(seconds: values.integer("seconds")))
            let json = try AdviceFile(advice, url: source.url).bytes()
            if values.isGiven("json"), file != "-" {
                do {
                    try ReportFile.write(json, to: file)
                } catch {
                    throw UnusableService(message: error.message)
                }
            }
            let isPrinted = file == "-"
            say(text(advice, descriptor: isPrinted ? 2 : 1), to: isPrinted ? 2 : 1)
            if isPrinted { say(String(decoding: json, as: UTF8.self)) }
        } catch {
            complain(error.message)
            exit(2)
        }
    }

    private static func source(
        _ arguments: [String]
    ) throws(UsageError) -> (FlagValues, Source) {
        do throws(ClientFailure) {
            let values = try ClientFlags.values(
                flags,
                command: "latchkey advise",
                operandCountMax: 1,
                arguments: arguments
            )
            var settings = try ClientFlags.settings(values)
            settings.url = values.operands.first ?? settings.url
            guard let address = ServiceAddress(settings.url) else {
                throw ClientFailure(
                    .usage,
                    "'\(settings.url)' is not the address of a service: give one such as "
                        + "\(ServiceAddress.example)."
                )
            }
            let url = settings.url.contains("://") ? settings.url : address.origin
            return (values, Source(url: url, connection: try settings.connection()))
        } catch {
            throw UsageError(error.message)
        }
    }

    private static func text(_ advice: Advice, descriptor: Int32) -> String {
        let width = min(80, TerminalStyle(descriptor: descriptor).width)
        return advice.paragraphs.map { TextLines.wrapped($0, indent: 0, width: width) + "\n" }
            .joined(separator: "\n")
    }

    /// Why there is no answer, in a sentence.
    struct UnusableService: Error {
        let message: String
    }

    /// A service that is asked.
    private struct Source {
        let url: String
        let connection: ServiceConnection

        /// Watches the service.
        func observe(seconds: Int) throws(UnusableService) -> Observation {
            let found = try contention()
            let row = try serving(found.report)
            let start = ContinuousClock.now
            let earlier = MetricsReading(text: try answer("/metrics"))
            guard earlier.serving[row.strategy] != nil else { throw other("/metrics") }
            Thread.sleep(forTimeInterval: max(0, (start + .seconds(seconds) - .now) / .seconds(1)))
            let later = MetricsReading(text: try answer("/metrics"))
            let taken = start.duration(to: .now) / .seconds(1)
            let last = try contention()
            guard let metrics = later.since(earlier) else {
                throw UnusableService(message: "\(url) was restarted meanwhile: ask again.")
            }
            guard try serving(last.report).strategy == row.strategy else {
                throw UnusableService(message: "\(url) was switched meanwhile: ask again.")
            }
            return Observation(
                strategy: row.strategy,
                seconds: taken,
                metrics: metrics,
                samplingMean: max(1, row.samplingMean),
                clockSeconds: (row.overhead?.clockNanoseconds ?? 0) / 1e9,
                spins: row.traits["spins"] == true,
                appliesWritesLater: row.traits["asynchronousWrites"] == true,
                isDebugBuild: found.isOfDebugBuild,
                hottest: last.report.hottest
            )
        }

        private func serving(
            _ report: ContentionReport
        ) throws(UnusableService) -> ContentionReport.Row {
            let row = report.rows.first { $0.role == .serving }
            guard let row, [.sampled, .full].contains(row.level) else {
                throw UnusableService(
                    message: "\(url) does not measure waits: start it with --metering sampled."
                )
            }
            return row
        }

        private func contention() throws(UnusableService) -> ContentionAnswer {
            let path = "/v1/contention"
            let text = try answer(path)
            do {
                return try ContentionAnswer(json: Data(text.utf8))
            } catch {
                throw other(path)
            }
        }

        private func answer(_ path: String) throws(UnusableService) -> String {
            let answer: ClientAnswer
            do {
                answer = try connection.get(path)
            } catch {
                throw UnusableService(message: "\(url): \(error.message).")
            }
            switch answer.status {
            case 200:
                return answer.text
            case 401:
                throw UnusableService(
                    message: connection.hasToken
                        ? "\(url) does not accept this token."
                        : "\(url) asks for a token: set LATCHKEY_TOKEN, or give --token-from."
                )
            default:
                throw UnusableService(
                    message: "\(url) is not a Latchkey service: it answers \(path) with status "
                        + "\(answer.status)."
                )
            }
        }

        private func other(_ path: String) -> UnusableService {
            UnusableService(
                message: "\(url) is not a Latchkey service of this version: \(path) has another "
                    + "format."
            )
        }
    }
}

/// The advice as JSON.
struct AdviceFile: Encodable {
    let schema = "latchkey-advice/2"
    let url: String
    let advice: Advice
    let headline: String
    let reason: String

    init(_ advice: Advice, url: String) {
        self.url = url
        self.advice = advice
        headline = advice.headline
        reason = advice.reason
    }

    func bytes() throws(AdviseCommand.UnusableService) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            return try Array(encoder.encode(self)) + Array("\n".utf8)
        } catch {
            throw AdviseCommand.UnusableService(message: "the answer has no JSON: \(error).")
        }
    }
}
