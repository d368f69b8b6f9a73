import LatchkeyStrategies
import Testing

@testable import LatchkeyComparison

/// The inputs and the plan of a comparison over HTTP.
///
/// That it runs is tested with the real program.
struct WireTests {
    @Test func `the script's line is read among wrk's own`() throws {
        let output = """
            Running 1s test @ http://127.0.0.1:8080/
              1 threads and 4 connections
            Requests/sec:  39000.10
            latchkey-load 39000 1000500 12 3 101.500 90.000 150.000 900.000 1200.000 5000.000
            """
        let result = try #require(LoadGenerator.Result(output: output))
        #expect(result.operations == 38_988, "without those that were refused")
        #expect(result.seconds == 1.0005)
        #expect(result.refused == 12)
        #expect(result.lost == 3)
        #expect(result.response.p50Nanoseconds == 90_000)
        #expect(result.response.p999Nanoseconds == 1_200_000)
        #expect(result.response.maxNanoseconds == 5_000_000)
    }

    @Test(arguments: [(999, nil), (1_000, 1_200_000.0)])
    func `p99.9 is left out where fewer than a thousand were timed`(
        requests: Int,
        expected: Double?
    ) throws {
        let line = "latchkey-load \(requests) 1000000 0 0 100 90 150 900 1200 5000"
        let result = try #require(LoadGenerator.Result(output: line))
        #expect(result.response.p99Nanoseconds == 900_000)
        #expect(result.response.p999Nanoseconds == expected)
    }

    @Test(arguments: [
        "", "latchkey-load", "latchkey-load 1 2 3", "latchkey-load 1 0 0 0 1 1 1 1 1 1",
        "latchkey-load nan 1 0 0 1 1 1 1 1 1",
    ])
    func `output without figures is invalid`(output: String) {
        #expect(LoadGenerator.Result(output: output) == nil)
    }

    @Test func `the port is read from the service's first line`() {
        let line = "latchkey: listening on http://127.0.0.1:40123 (strategy lock)"
        #expect(ServiceProcess.port(of: line) == 40_123)
        #expect(ServiceProcess.port(of: "") == nil)
        #expect(ServiceProcess.port(of: "latchkey: listening on http://127.0.0.1 (x)") == nil)
    }

    @Test func `a service has the strategy and the stripes of its cases`() {
        for (strategy, stripes) in [(StrategyKind.spin, "4"), (.actor, "1")] {
            let service = HTTPComparison.Service(strategy: strategy, stripes: 4)
            let arguments = ServiceProcess.arguments(service)
            #expect(arguments.prefix(3) == ["serve", "--strategy", strategy.rawValue])
            let place = arguments.firstIndex(of: "--stripes")
            #expect(place.map { arguments[$0 + 1] } == stripes)
        }
    }

    @Test func `each strategy has one service, and each workload a baseline`() throws {
        var settings = ComparisonSettings()
        settings.transport = .http
        settings.useHTTPDefaults()
        settings.strategies = [.lock, .spin]
        settings.readRatios = [0, 1]
        let schedule = Schedule(settings)
        #expect(schedule.cases.count { !$0.isBaseline } == 2 * 2 * 2)
        #expect(schedule.cases.count { $0.subject == .baseline(.httpAlone) } == 2 * 2)
        let services = Set(schedule.cases.map { HTTPComparison.service($0, settings) })
        #expect(services.count == 2)
    }

    @Test func `settings without a meaning over HTTP are refused with a sentence`() {
        func refusal(_ change: (inout ComparisonSettings) -> Void) -> String? {
            var settings = ComparisonSettings()
            settings.transport = .http
            settings.useHTTPDefaults()
            change(&settings)
            do {
                try settings.validate()
                return nil
            } catch {
                return error.message
            }
        }
        #expect(refusal { _ in } == nil)
        #expect(refusal { $0.durationSeconds = 0.5 }?.contains("whole seconds") == true)
        let openLoop = refusal { $0.arrival = .open(operationsPerSecond: 5000) }
        #expect(openLoop == "--transport http has a closed loop only: leave out --arrival.")
        #expect(refusal { $0.keys = [HTTPComparison.keysMax] } == nil)
        #expect(refusal { $0.keys = [HTTPComparison.keysMax + 1] }?.contains("--keys") == true)
    }
}
