import Foundation
import LatchkeyContention
import LatchkeyMachine
import LatchkeyStrategies
import Testing

@testable import LatchkeyService

@Suite struct ContentionAnswers {
    @Test func `the fingerprint stands beside the fields of the report`() throws {
        let meter = ContentionMeter(LockStrategy.self, level: .counts)
        var row = ContentionReport.Row(meter)
        row.since = Date(timeIntervalSince1970: 0)
        let answer = ContentionAnswer(
            fingerprint: Fingerprint(Fingerprint.Context(version: "1.2.3")),
            report: ContentionReport(generatedAt: Date(timeIntervalSince1970: 1), rows: [row])
        )
        let json = try answer.json()
        let members = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(members.keys.sorted() == ["fingerprint", "generatedAt", "rows"])
        #expect(try ContentionAnswer(json: json) == answer)
        #expect(answer.isOfDebugBuild == (Fingerprint.configuration == "debug"))
    }
}
