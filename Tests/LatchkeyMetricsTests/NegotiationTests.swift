import Testing

@testable import LatchkeyMetrics

@Suite struct Negotiation {
    @Test(arguments: [
        "application/openmetrics-text",
        "application/openmetrics-text; version=1.0.0; charset=utf-8",
        "APPLICATION/OpenMetrics-Text ;Version=1.0.0",
        "application/openmetrics-text;version=9.9.9",
        "application/openmetrics-text;version=\"1.0.0\"",
        "application/openmetrics-text, text/plain",
        "text/plain, application/openmetrics-text",
        "application/openmetrics-text;q=0.5, */*;q=0.1",
        "application/openmetrics-text;q=0.1, application/json",
        "text/plain;q=0.4, application/openmetrics-text;q=0.5",
        // As Prometheus 2 and 3 send it.
        """
        application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;\
        q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1
        """,
        """
        application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,\
        application/openmetrics-text;version=0.0.1;q=0.4,\
        text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,\
        */*;q=0.1
        """,
    ])
    func `chooses OpenMetrics`(accept: String) {
        #expect(ExpositionFormat(accept: accept.utf8) == .openMetrics)
    }

    @Test(arguments: [
        "", ",", ";", "*/*", "text/*", "text/plain", "text/plain;version=0.0.4", "text/html",
        "application/*", "application/json", "application/openmetrics-text;q=0",
        "application/openmetrics-text;q=0, */*",
        "application/openmetrics-text;q=0.4, text/plain;q=0.5",
        "application/openmetrics-text;q=0.4, text/*;q=0.5",
        "application/openmetrics-text;q=nan", "application/openmetrics-text;q=2",
        "application/openmetrics-text;q=", "application/openmetrics-textual", "\u{FFFD}\u{0}",
    ])
    func `chooses text`(accept: String) {
        #expect(ExpositionFormat(accept: accept.utf8) == .text)
    }

    @Test func `chooses text for a request without the header`() {
        #expect(ExpositionFormat(accept: nil as [UInt8]?) == .text)
    }

    @Test func `takes the quality of the range that means text most exactly`() {
        let accept = "application/openmetrics-text;q=0.5, text/plain;q=0.1, */*;q=1"
        #expect(ExpositionFormat(accept: accept.utf8) == .openMetrics)
    }
}
