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

    @Test func `of a metric that would forge a line, or that its kind does not allow, stop`() async
    {
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("open 1\nforged", .gauge, help: "")
        }
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("requests", .counter, help: "")
        }
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("requests_total", .gauge, help: "")
        }
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("wait_seconds", .gauge, help: "", unit: "bytes")
        }
        await #expect(processExitsWith: .failure) {
            _ = MetricFamily("wait_seconds_bucket", .gauge, help: "")
        }
    }

    @Test func `of a label that would forge another, come twice or are a histogram's stop`() async {
        await #expect(processExitsWith: .failure) { _ = Labels([("a=\"1\",b", "2")]) }
        await #expect(processExitsWith: .failure) { _ = Labels([("a", "1"), ("a", "2")]) }
        await #expect(processExitsWith: .failure) { _ = Labels([("le", "1")]) }
    }

    @Test func `that two families claim, and labels that two series have, stop`() async {
        await #expect(processExitsWith: .failure) {
            let registry = MetricRegistry()
            _ = registry.gauge(MetricFamily("wait", .gauge, help: ""))
            registry.collect([MetricFamily("wait_total", .counter, help: "")]) { _ in }
        }
        await #expect(processExitsWith: .failure) {
            let registry = MetricRegistry()
            let family = MetricFamily("wait", .gauge, help: "")
            _ = registry.gauge(family, Labels([("a", "1")]))
            _ = registry.gauge(family, Labels([("a", "1")]))
        }
    }
}
