internal import Foundation
internal import LatchkeyClient
internal import LatchkeyCommandLine
internal import LatchkeyContention
internal import LatchkeyMachine
internal import LatchkeyReport
internal import LatchkeyService
internal import LatchkeySettings

/// `latchkey advise`: whether a running service should use another strategy.
enum AdviseCommand {
    /// The time is divided, so that noise can be told from a difference: into at least 10 slices,
    /// and into more of 2 s each.
    ///
    /// A queue of threads stays at one lock for seconds before it is at another, so that what is in
    /// shorter slices is not independent.
    static func sliceCount(seconds: Int) -> Int { min(60, max(10, seconds / 2)) }

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
        latchkey advise: says whether a running service should use another strategy

        Usage: latchkey advise [URL] [--flag value | --flag=value ...]

        Without a URL it asks the service of --url.

        Reads the contention of the service several times, so that the answer is about
        its traffic now. It says to keep the strategy or to switch, with the expected
        gain, or that the lock is not what limits the service. To compare strategies,
        it needs shadows: 'latchkey serve --shadow all' or a list that has the serving
        strategy, too. The gain is a share of the busy time: the service's processor
        time and the time in which its threads wait for the lock.

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
            let report = found.report
            let row = try serving(report)
            let start = ContinuousClock.now
            var reading = MetricsReading(text: try answer("/metrics"))
            guard reading.serving[row.strategy] != nil else { throw other("/metrics") }
            var slices: [Observation.Slice] = []
            let sliceCount = AdviseCommand.sliceCount(seconds: seconds)
            for index in 1...sliceCount {
                // A busy service takes a while to answer, and the next slice does not wait for it.
                let due = start + .seconds(seconds) * index / sliceCount
                Thread.sleep(forTimeInterval: max(0, (due - .now) / .seconds(1)))
                let next = MetricsReading(text: try answer("/metrics"))
                let slice = Observation.Slice(from: reading, to: next, strategy: row.strategy)
                guard let slice else {
                    throw UnusableService(message: "\(url) was restarted meanwhile: ask again.")
                }
                slices.append(slice)
                reading = next
            }
            return Observation(
                strategy: row.strategy,
                seconds: start.duration(to: .now) / .seconds(1),
                slices: slices,
                samplingMean: max(1, row.samplingMean),
                isDebugBuild: found.isOfDebugBuild,
                clockSeconds: (row.overhead?.clockNanoseconds ?? 0) / 1e9,
                incomparable: Set(
                    report.rows.filter { $0.traits["asynchronousWrites"] == true }.map(\.strategy)
                ),
                isWholeSample: report.rows.contains { $0.shadow?.sampleInterval == 1 },
                hottest: try contention().report.hottest
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
