import Testing

@testable import LatchkeyMetrics

@Suite struct Exposition {
    /// One family of each kind, with labels and without, and awkward text everywhere.
    static func registry() -> MetricRegistry {
        let registry = MetricRegistry()
        let requests = MetricFamily(
            "latchkey_requests_total",
            .counter,
            help: "Requests \\ \"answered\"\nso far."
        )
        let get = registry.counter(requests, Labels([("method", "GET"), ("status", "200")]))
        let sent = registry.counter(
            MetricFamily("latchkey_sent_bytes_total", .counter, help: "Bytes.", unit: "bytes")
        )
        _ = registry.counter(requests, Labels([("method", "PUT"), ("status", "204")]))
        let open = registry.gauge(MetricFamily("latchkey_open", .gauge, help: "Connections."))
        let duration = registry.histogram(
            MetricFamily("latchkey_duration_seconds", .histogram, help: "Time.", unit: "seconds"),
            Labels([("route", "/")]),
            bounds: HistogramBounds([100, 1_000_000_000], scale: .nanosecondsInSeconds)
        )
        let size = registry.histogram(
            MetricFamily("latchkey_body_bytes", .histogram, help: "Size.", unit: "bytes"),
            bounds: HistogramBounds([10], scale: .one)
        )
        get.add(3)
        sent.add(4_000_000_000)
        open.set(7)
        open.add(-9)
        duration.observe(100)
        duration.observe(101, weight: 2)
        duration.observe(1_000_000_001)
        size.observe(11)
        let computed = MetricFamily("latchkey_ratio", .gauge, help: "Computed.", unit: "ratio")
        registry.collect([computed]) { writer in
            writer.begin(computed)
            writer.sample(Labels([("which", "half")]), 0.5)
            writer.sample(Labels([("which", "none")]), Double.nan)
            writer.sample(Labels([("which", "all")]), -Double.infinity)
        }
        return registry
    }

    @Test func `a series can begin with its first value`() {
        let registry = MetricRegistry()
        let family = MetricFamily("latchkey_requests_total", .counter, help: "Requests.")
        let counter = registry.counter(family, fromStart: false)
        let histogram = registry.histogram(
            MetricFamily("latchkey_body_bytes", .histogram, help: "Size.", unit: "bytes"),
            bounds: HistogramBounds([10], scale: .one),
            fromStart: false
        )
        func lines() -> [Substring] {
            String(decoding: registry.text(.text), as: UTF8.self)
                .split(separator: "\n").filter { !$0.hasPrefix("#") }
        }
        #expect(lines().isEmpty)
        counter.add()
        // Also one that adds nothing to the sum.
        histogram.observe(0)
        #expect(
            lines() == [
                "latchkey_requests_total 1", #"latchkey_body_bytes_bucket{le="10.0"} 1"#,
                #"latchkey_body_bytes_bucket{le="+Inf"} 1"#, "latchkey_body_bytes_sum 0.0",
                "latchkey_body_bytes_count 1",
            ]
        )
    }

    @Test func `the text format is this`() {
        #expect(
            String(decoding: Self.registry().text(.text), as: UTF8.self) == """
                # HELP latchkey_requests_total Requests \\\\ "answered"\\nso far.
                # TYPE latchkey_requests_total counter
                latchkey_requests_total{method="GET",status="200"} 3
                latchkey_requests_total{method="PUT",status="204"} 0
                # HELP latchkey_sent_bytes_total Bytes.
                # TYPE latchkey_sent_bytes_total counter
                latchkey_sent_bytes_total 4000000000
                # HELP latchkey_open Connections.
                # TYPE latchkey_open gauge
                latchkey_open -2.0
                # HELP latchkey_duration_seconds Time.
                # TYPE latchkey_duration_seconds histogram
                latchkey_duration_seconds_bucket{route="/",le="1e-07"} 1
                latchkey_duration_seconds_bucket{route="/",le="1.0"} 3
                latchkey_duration_seconds_bucket{route="/",le="+Inf"} 4
                latchkey_duration_seconds_sum{route="/"} 1.000000303
                latchkey_duration_seconds_count{route="/"} 4
                # HELP latchkey_body_bytes Size.
                # TYPE latchkey_body_bytes histogram
                latchkey_body_bytes_bucket{le="10.0"} 0
                latchkey_body_bytes_bucket{le="+Inf"} 1
                latchkey_body_bytes_sum 11.0
                latchkey_body_bytes_count 1
                # HELP latchkey_ratio Computed.
                # TYPE latchkey_ratio gauge
                latchkey_ratio{which="half"} 0.5
                latchkey_ratio{which="none"} NaN
                latchkey_ratio{which="all"} -Inf

                """
        )
    }

    @Test func `OpenMetrics is this`() {
        #expect(
            String(decoding: Self.registry().text(.openMetrics), as: UTF8.self) == """
                # HELP latchkey_requests Requests \\\\ \\"answered\\"\\nso far.
                # TYPE latchkey_requests counter
                latchkey_requests_total{method="GET",status="200"} 3
                latchkey_requests_total{method="PUT",status="204"} 0
                # HELP latchkey_sent_bytes Bytes.
                # TYPE latchkey_sent_bytes counter
                # UNIT latchkey_sent_bytes bytes
                latchkey_sent_bytes_total 4000000000
                # HELP latchkey_open Connections.
                # TYPE latchkey_open gauge
                latchkey_open -2.0
                # HELP latchkey_duration_seconds Time.
                # TYPE latchkey_duration_seconds histogram
                # UNIT latchkey_duration_seconds seconds
                latchkey_duration_seconds_bucket{route="/",le="1e-07"} 1
                latchkey_duration_seconds_bucket{route="/",le="1.0"} 3
                latchkey_duration_seconds_bucket{route="/",le="+Inf"} 4
                latchkey_duration_seconds_sum{route="/"} 1.000000303
                latchkey_duration_seconds_count{route="/"} 4
                # HELP latchkey_body_bytes Size.
                # TYPE latchkey_body_bytes histogram
                # UNIT latchkey_body_bytes bytes
                latchkey_body_bytes_bucket{le="10.0"} 0
                latchkey_body_bytes_bucket{le="+Inf"} 1
                latchkey_body_bytes_sum 11.0
                latchkey_body_bytes_count 1
                # HELP latchkey_ratio Computed.
                # TYPE latchkey_ratio gauge
                # UNIT latchkey_ratio ratio
                latchkey_ratio{which="half"} 0.5
                latchkey_ratio{which="none"} NaN
                latchkey_ratio{which="all"} -Inf
                # EOF

                """
        )
    }

    @Test func `an empty registry is an empty scrape`() {
        #expect(MetricRegistry().text(.text) == [])
        #expect(MetricRegistry().text(.openMetrics) == Array("# EOF\n".utf8))
    }

    @Test func `the content types are exact`() {
        #expect(ExpositionFormat.text.contentType == "text/plain; version=0.0.4; charset=utf-8")
        #expect(
            ExpositionFormat.openMetrics.contentType
                == "application/openmetrics-text; version=1.0.0; charset=utf-8"
        )
    }

    @Test(arguments: [
        ("a\"} 1\nforged_total 9", #"v="a\"} 1\nforged_total 9""#),
        ("\\", #"v="\\""#),
        ("\\\"", #"v="\\\"""#),
        ("\r\u{0}\u{1B}[2J\u{7F}", "v=\"\u{FFFD}\u{FFFD}\u{FFFD}[2J\u{FFFD}\""),
        ("", #"v="""#),
        ("größe", #"v="größe""#),
    ])
    func `a label's value cannot end its quotes or its line`(value: String, rendered: String) {
        let labels = Labels([("v", value)])
        #expect(labels.text == rendered)
        #expect(!labels.text.utf8.contains(UInt8(ascii: "\n")))
    }
}
