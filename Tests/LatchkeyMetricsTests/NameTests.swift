import Testing

@testable import LatchkeyMetrics

@Suite struct Names {
    @Test(arguments: [
        "", "9lives", "a b", "a-b", "a\nb", "a{b}", "größe", "a\u{0}", "a\"", "a:b", "@", "[",
    ])
    func `are letters, digits and underscores`(name: String) {
        #expect(!MetricFamily.isValidName(name))
    }

    @Test(arguments: ["a", "_", "A9_z", "latchkey_open"])
    func `may be like these`(name: String) {
        #expect(MetricFamily.isValidName(name))
    }

    @Test func `of a metric that would forge a line stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("open 1\nforged", .gauge, help: "")
        }
    }

    @Test func `of a counter without _total stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("requests", .counter, help: "")
        }
    }

    @Test func `of a gauge with _total stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("requests_total", .gauge, help: "")
        }
    }

    @Test func `with a unit that is not their suffix stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("wait_seconds", .gauge, help: "", unit: "bytes")
        }
    }

    @Test func `like a part of a histogram stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("wait_seconds_bucket", .gauge, help: "")
        }
    }

    @Test func `of a label that would forge another stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = Labels([("a=\"1\",b", "2")])
        }
    }

    @Test func `of a label that come twice stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = Labels([("a", "1"), ("a", "2")])
        }
    }

    @Test func `of a label that histograms need stop the program`() async {
        await #expect(processExitsWith: .failure) {
            _ = Labels([("le", "1")])
        }
    }

    @Test func `that two families claim stop the program`() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricRegistry()
            _ = registry.gauge(MetricFamily("wait", .gauge, help: ""))
            registry.collect([MetricFamily("wait_total", .counter, help: "")]) { _ in }
        }
    }

    @Test func `and labels that two series have stop the program`() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricRegistry()
            let family = MetricFamily("wait", .gauge, help: "")
            _ = registry.gauge(family, Labels([("a", "1")]))
            _ = registry.gauge(family, Labels([("a", "1")]))
        }
    }
}
