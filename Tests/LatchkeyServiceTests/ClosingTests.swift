import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame

/// The order in which a service ends.
@Suite
struct ClosingTests {
    @Test
    func `stages end in their order, and the parts of a stage in that of their registration`() {
        let closing = Closing()
        let ended = Guarded<[String]>([])
        for stage in Closing.Stage.allCases.reversed() {
            for part in 1...2 {
                closing.at(stage) { ended.write { $0.append("\(stage) \(part)") } }
            }
        }
        #expect(closing.end(within: .zero) == Drained())
        let expected = [
            "announced", "replicas", "streams", "operations", "requests", "execution", "data",
            "logs", "threads", "probes",
        ].flatMap { ["\($0) 1", "\($0) 2"] }
        #expect(ended.read { $0 } == expected)
    }

    @Test
    func `a part knows the time for the requests, and says what became of its work`() {
        let closing = Closing()
        closing.at(.requests) { time, drained in
            drained.requestCount = Int(time.components.seconds)
        }
        closing.at(.data) { _, drained in drained.isDiskFull = drained.requestCount == 3 }
        let drained = closing.end(within: .seconds(3))
        #expect(drained == Drained(requestCount: 3, isDiskFull: true))
    }
}
