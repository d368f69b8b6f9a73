import LatchkeyClient
import LatchkeyTestSupport
import Testing

@testable import latchkey

/// The times of a lease, and the pictures of `latchkey top`.
struct LeaseTests {
    @Test(arguments: 0..<20)
    func `a command is asked to end, and killed, before its lease is over`(seed: UInt64) {
        var random = SeededGenerator(seed)
        let start = UInt64.random(in: 0...1 << 60, using: &random)
        let timeToLive = UInt64.random(in: 1_000_000_000...86_400_000_000_000, using: &random)
        let times = LeaseTimes(start: start, timeToLive: timeToLive)
        let order = [start, times.renewal, times.warning, times.end, start + timeToLive]
        #expect(order == order.sorted())
        #expect(Set(order).count == order.count)
        // Two requests fit between the first try to renew and the warning.
        let window = Duration.nanoseconds(Int64(times.warning - times.renewal))
        #expect(times.requestLimit * 2 <= window + .nanoseconds(4))
    }

    private static func metrics(_ two: Int, _ five: Int, _ operations: Int) -> String {
        """
        # TYPE latchkey_http_requests counter
        latchkey_http_requests_total{route="/v1/properties",method="GET",status="200"} \(two)
        latchkey_http_requests_total{route="/v1/properties",method="GET",status="204"} \(two)
        latchkey_http_requests_total{route="/v1/properties",method="PUT",status="503"} \(five)
        latchkey_strategy_info{strategy="lock"} 1
        latchkey_store_properties 12
        latchkey_store_bytes 2048
        latchkey_watchers 3
        process_resident_memory_bytes 10485760
        process_start_time_seconds 1000
        latchkey_lock_acquisitions_total{strategy="lock",role="serving",mode="read"} \(operations)
        latchkey_lock_contended_total{strategy="lock",role="serving",mode="read"} \(operations / 2)
        latchkey_lock_wait_seconds_bucket{strategy="lock",role="serving",le="1e-06"} \(operations)
        latchkey_lock_wait_seconds_bucket{strategy="lock",role="serving",le="+Inf"} \(operations)

        """
    }

    @Test func `a picture has what happened between two readings`() {
        let earlier = TopReading(text: Self.metrics(100, 10, 1000), seconds: 5)
        let later = TopReading(text: Self.metrics(300, 12, 5000), seconds: 7)
        var frame = TopFrame(origin: "http://a", earlier: earlier, later: later, hottest: nil)
        frame.now = 1090
        let lines = frame.lines(width: 100)
        #expect(lines[0] == "latchkey top  http://a  up 90 s  strategy lock")
        #expect(lines[2] == "requests/s 201  (2xx 200  3xx 0  4xx 0  5xx 1)")
        #expect(
            lines[3] == "properties 12  bytes 2.0 KiB  watchers 3  connections -  memory 10.0 MiB"
        )
        let words = lines.last?.split(separator: " ").joined(separator: " ")
        #expect(words == "lock 2000 50.0 % ≤ 1.0 µs -")
        #expect(frame.lines(width: 20).allSatisfy { $0.count <= 20 })
    }

    @Test func `the most requested names are shown`() {
        let name = "app/" + String(repeating: "long", count: 10)
        let text = """
            {"names":[{"name":"\(name)","requestsPerSecond":1234.5}],\
            "prefixes":[{"name":"app/","requestsPerSecond":20000.1}],"tokens":[]}
            """
        let reading = TopReading(text: Self.metrics(1, 0, 10), seconds: 6)
        var frame = TopFrame(origin: "http://a", earlier: reading, later: reading)
        frame.busiest = JSONValue(Array(text.utf8))
        #expect(
            frame.lines(width: 100)[3]
                == "most of them   property app/longlon…longlonglong 1234  prefix app/ 20.0k"
        )
        #expect(frame.json["traffic"]?["prefixes"]?.elements.count == 1)
    }

    @Test func `a service that was restarted has no rates below 0`() {
        let earlier = TopReading(text: Self.metrics(300, 12, 5000), seconds: 5)
        let later = TopReading(text: Self.metrics(1, 0, 10), seconds: 6)
        let frame = TopFrame(origin: "http://a", earlier: earlier, later: later)
        #expect(!frame.lines(width: 200).joined().contains(" -1"))
    }
}
