import LatchkeyTestSupport
import Testing

@testable import LatchkeyClient

/// The texts of a service, with seeded changes, crash no command.
struct HostileServiceTests {
    private static let count = Depth.count(3000, deep: 100_000)

    @Test func `streams, metrics and exports that were changed are read to their end`() {
        var random = SeededGenerator(1)
        let stream = Array(
            """
            id: 7
            event: put
            data: {"name":"a","value":[1,{"b":"\\u00e9"}],"revision":7}

            : comment

            event: gap
            data: {"revision":9}


            """.utf8
        )
        let metrics = Array(
            """
            # HELP a b
            latchkey_wait_seconds{strategy="lock",mode="read"} 3
            latchkey_up 1

            """.utf8
        )
        let export = Array(
            "{\"name\":\"a\",\"value\":1}\n{\"end\":true,\"count\":1,\"revision\":7}\n".utf8
        )
        for _ in 0..<Self.count {
            var events = StreamEvents()
            for event in events.feed(random.mutated(stream, SeededGenerator.texts)) {
                _ = PropertyText.line(of: event)
                _ = PropertyText.object(of: event)
            }
            let text = random.mutated(metrics, SeededGenerator.texts + [Array("\"".utf8)])
            _ = MetricSample.all(in: String(decoding: text, as: UTF8.self))
            var end = ExportEnd()
            unsafe random.mutated(export, SeededGenerator.texts).withUnsafeBytes {
                unsafe end.feed($0)
            }
            _ = end.isWhole
        }
    }

    @Test func `answers that were changed are read, or fail with a sentence`() {
        var random = SeededGenerator(2)
        let head = Array("HTTP/1.1 200 OK\r\nETag: \"7\"\r\nLatchkey-TTL: 1.5\r\n\r\n".utf8)
        let problem = Array(
            #"{"type":"https://a/problems/not-found","title":"No.","detail":"None.","status":404}"#
                .utf8
        )
        for _ in 0..<Self.count {
            let answer = ClientAnswer(
                status: Int.random(in: 0..<1000, using: &random),
                head: random.mutated(head, SeededGenerator.texts),
                body: random.mutated(problem, SeededGenerator.texts)
            )
            _ = PropertyText.object("a", answer)
            let failure = ClientFailure(answer, from: "http://a", hasToken: false)
            #expect(!failure.message.isEmpty)
            _ = answer.meaning(ClientRequest(.get, property: "a").promise)
        }
    }
}
