import LatchkeyGuards
import LatchkeyHTTP
import LatchkeyMetrics
import LatchkeyStore
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// The routes of the strategy, over a switch of the test.
@Suite(.timeLimit(.minutes(15)), .offPool)
struct StrategyRouteTests {
    private static let path = "/v1/strategy"

    private static func body(_ kind: StrategyKind) -> String {
        #"{"strategy":"\#(kind.rawValue)"}"#
    }

    @Test func `a switch says what it was, and is counted, logged and shown`() throws {
        let rig = try Rig()
        let before = try #require(try rig.ask("GET").json as? [String: String])
        #expect(before["strategy"] == "lock" && before["atStart"] == "lock")
        #expect(before["since"] == "1970-01-01T00:00:01.000Z")
        rig.now.write { $0 = 62_003 }
        let answer = try rig.ask("PUT", Self.body(.adaptive))
        #expect(answer.status == 200)
        #expect(
            answer.text == #"{"from":"lock","to":"adaptive","seconds":0.0021,"#
                + #""longestHoldSeconds":0.0003,"longestAccessSeconds":0.0004}"#
        )
        let after = try #require(try rig.ask("GET").json as? [String: String])
        #expect(after["strategy"] == "adaptive" && after["atStart"] == "lock")
        #expect(after["since"] == "1970-01-01T00:01:02.003Z")
        #expect(try rig.ask("GET", at: "/v1/strategies").text.hasPrefix(#"{"serving":"adaptive","#))
        #expect(rig.metric(#"latchkey_strategy_info{strategy="adaptive"}"#) == "1")
        #expect(rig.metric(#"latchkey_strategy_info{strategy="lock"}"#) == nil)
        #expect(rig.metric("latchkey_strategy_switches_total") == "1")
        #expect(
            rig.logged == [
                "info strategy switched from=lock to=adaptive seconds=0.0021 "
                    + "longestHoldSeconds=0.0003 longestAccessSeconds=0.0004"
            ]
        )
    }

    @Test func `a switch to the current strategy changes nothing`() throws {
        let rig = try Rig()
        let before = try rig.ask("GET").text
        rig.now.write { $0 = 2000 }
        let answer = try rig.ask("PUT", Self.body(.lock))
        #expect(answer.status == 200)
        #expect(
            answer.text == #"{"from":"lock","to":"lock","seconds":0.0,"#
                + #""longestHoldSeconds":0.0,"longestAccessSeconds":0.0}"#
        )
        #expect(try rig.ask("GET").text == before)
        #expect(rig.metric("latchkey_strategy_switches_total") == "0")
        #expect(rig.logged.isEmpty)
    }

    /// ```
    /// first         second
    /// -----         ------
    /// begins
    ///               409
    /// 200
    ///               200
    /// ```
    @Test func `a second switch meanwhile is refused, and the strategy is shown`() throws {
        let rig = try Rig(isHeld: true)
        let first = Aside { try rig.ask("PUT", Self.body(.adaptive)) }
        #expect(rig.begun.wait(for: 1))
        for kind in [StrategyKind.spin, .lock] {
            #expect(try rig.ask("PUT", Self.body(kind)).problem == "switch-under-way")
        }
        #expect(try rig.ask("GET").text.hasPrefix(#"{"strategy":"lock","#))
        rig.gate.open()
        #expect(try first.get()?.status == 200)
        rig.gate.open()
        #expect(try rig.ask("PUT", Self.body(.spin)).text.hasPrefix(#"{"from":"adaptive","#))
        #expect(rig.begun.value == 2)
    }

    /// The store's own refusals free the place of the switching client, too.
    @Test func `a refusal of the store is a sentence, and another switch can follow`() throws {
        let rig = try Rig()
        let answer = try rig.ask("PUT", Self.body(.actor))
        #expect(answer.status == 422 && answer.problem == "strategy-not-available")
        #expect(
            answer.text.contains(
                "actor guards one stripe, and the service has 128. Start it with --strategy actor, "
                    + "or with --stripes 1."
            )
        )
        #expect(try rig.ask("PUT", Self.body(.mutex)).status == 200)
        rig.refusal.write { $0 = .underWay }
        #expect(try rig.ask("PUT", Self.body(.spin)).problem == "switch-under-way")
        rig.refusal.write { $0 = nil }
        #expect(try rig.ask("PUT", Self.body(.spin)).status == 200)
        #expect(rig.logged.count == 2)
    }

    @Test(arguments: [
        (nil, "malformed-json"), ("", "malformed-json"), ("{", "malformed-json"),
        (#"{"strategy":"lock"}x"#, "malformed-json"),
        ("{\"strategy\":\"lock\",\"a\":[[[[1]]]]}", "too-deep"),
        ("{}", "invalid-body"), ("[]", "invalid-body"), ("7", "invalid-body"),
        (#""lock""#, "invalid-body"), (#"["strategy","lock"]"#, "invalid-body"),
        (#"{"strategies":"lock"}"#, "invalid-body"), (#"{"Strategy":"lock"}"#, "invalid-body"),
        (#"{"strategy":"lock","more":1}"#, "invalid-body"),
        (#"{"more":1,"strategy":"lock"}"#, "invalid-body"),
        (#"{"strategy":"lock","strategy":"spin"}"#, "invalid-body"),
        (#"{"strategy":null}"#, "invalid-body"), (#"{"strategy":7}"#, "invalid-body"),
        (#"{"strategy":["lock"]}"#, "invalid-body"), (#"{"strategy":""}"#, "invalid-body"),
        (#"{"strategy":"Lock"}"#, "invalid-body"), (#"{"strategy":"hope"}"#, "invalid-body"),
        (#"{"strategy":"\uD800"}"#, "invalid-body"),
    ])
    func `a body that is not right changes nothing`(body: String?, problem: String) throws {
        let rig = try Rig()
        let answer = try rig.ask("PUT", body)
        #expect(answer.status == 400 && answer.problem == problem, "\(answer.text)")
        #expect(rig.begun.value == 0)
    }

    @Test func `an unknown name is answered with the list`() throws {
        let text = try Rig().ask("PUT", #"{"strategy":"hope"}"#).text
        for kind in StrategyKind.allCases { #expect(text.contains(kind.rawValue)) }
        #expect(text.contains("`hope` is not known here"))
        let near = try Rig().ask("PUT", #"{"strategy":"tiket"}"#).text
        #expect(near.contains("`tiket` is not known here; `ticket` is."))
        // Only a short name that changes nothing around it is repeated in the answer.
        for name in ["a\\u001b[31m", "\u{202E}a", String(repeating: "a", count: 65), "`"] {
            let text = try Rig().ask("PUT", #"{"strategy":"\#(name)"}"#).text
            #expect(text.contains("This strategy is not known here"), "\(text)")
        }
    }

    @Test func `white space and escapes are JSON, and the length has a bound`() throws {
        let rig = try Rig()
        let body = " {\n\"str\\u0061tegy\"\t: \"s\\u0070in\" }\r\n"
        #expect(try rig.ask("PUT", body).text.contains(#""to":"spin""#))
        let most = body + String(repeating: " ", count: Rig.bodyBytesMax - body.utf8.count)
        #expect(try rig.ask("PUT", most).status == 200)
        #expect(try rig.ask("PUT", most + " ").status == 413)
    }

    @Test func `wrong fields and parameters besides the body are refused`() throws {
        let rig = try Rig()
        let body = Self.body(.spin)
        for (fields, problem) in [
            (["Content-Type: text/plain"], "unsupported-media-type"),
            (["Content-Type: application/json", "Content-Type: a/b"], "unsupported-media-type"),
            (["Content-Encoding: gzip"], "unsupported-media-type"),
            (["Content-Range: bytes 0-1/2"], "partial-put"),
        ] {
            #expect(try rig.ask("PUT", body, headers: fields).problem == problem, "\(fields)")
        }
        for (method, target, problem) in [
            ("PUT", "?a=1", "invalid-query"), ("GET", "?a=1", "invalid-query"),
            ("POST", "", "method-not-allowed"), ("DELETE", "", "method-not-allowed"),
        ] {
            let answer = try rig.ask(method, body, at: Self.path + target)
            #expect(answer.problem == problem, "\(method) \(target)")
        }
        #expect(rig.begun.value == 0)
        #expect(try rig.ask("PUT", body, headers: ["Content-Type: a/b+json"]).status == 200)
    }
}

/// A server with the routes of a strategy.
///
/// A switch to another strategy takes what the contract has as an example; a held one waits for the
/// gate, once for each.
private final class Rig: Sendable {
    static let bodyBytesMax = 4096

    let begun = Arrivals()
    let gate = Gate()
    let refusal = Guarded<SwitchRefusal?>(nil)
    /// The milliseconds of the clock.
    let now = Guarded<Int64>(1000)
    private let registry = MetricRegistry()
    private let lines = Guarded<[UInt8]>([])
    private let writer: LineWriter
    private let server: HTTPServer

    init(isHeld: Bool = false) throws {
        let (begun, gate, refusal, lines, now) = (begun, gate, refusal, lines, now)
        let kind = Guarded(StrategyKind.lock)
        writer = LineWriter(byteCountMax: 1 << 20) { text in
            lines.write { $0 += text.joined() }
            return 0
        }
        let log = Log(format: .text, level: .info, writer: writer)
        let store = StrategySwitch(
            kind: { kind.read { $0 } },
            change: { to throws(SwitchRefusal) in
                begun.arrive()
                if isHeld { gate.pass() }
                if let refusal = refusal.read({ $0 }) { throw refusal }
                guard to.traits.blocksCaller else { throw .needsOneStripe(to, stripeCount: 128) }
                let from = kind.read { $0 }
                guard from != to else { return SwitchReport(from: from, to: to) }
                kind.write { $0 = to }
                return SwitchReport(
                    from: from,
                    to: to,
                    duration: .microseconds(2100),
                    longestHold: .microseconds(300),
                    longestAccess: .microseconds(400)
                )
            }
        )
        var table = RouteTable(
            metrics: RequestMetrics(
                registry,
                sendsServerTiming: false,
                answers: AnswerBudget(byteCountMax: 1 << 30)
            )
        )
        let strategy = ServingStrategy(store, registry, log) {
            Timestamp(milliseconds: now.read { $0 })
        }
        StrategyRoutes(strategy: strategy, depthMax: 4).add(to: &table)
        let router = table.router(hosts: nil)
        var configuration = HTTPServerConfiguration()
        configuration.port = 0
        configuration.bodyBytesMax = Self.bodyBytesMax
        configuration.answerTimeout = Patience.duration
        server = try HTTPServer(configuration) { router.handle($0) }
    }

    deinit { server.stop(within: Patience.duration) }

    func ask(
        _ method: String,
        _ body: String? = nil,
        at target: String = "/v1/strategy",
        headers: [String] = []
    ) throws -> HTTPAnswer {
        try Site(port: server.port).ask(method, target, body, headers: headers)
    }

    func metric(_ name: String) -> String? {
        let lines = String(decoding: registry.text(.text), as: UTF8.self).split(separator: "\n")
        return lines.first { $0.hasPrefix("\(name) ") }.map { String($0.dropFirst(name.count + 1)) }
    }

    /// The lines of the log, without their times.
    var logged: [String] {
        writer.flush(withinMilliseconds: 1000 * Patience.seconds)
        return lines.read { String(decoding: $0, as: UTF8.self) }.split(separator: "\n")
            .map { String($0.drop { $0 != " " }.dropFirst()) }
    }
}
