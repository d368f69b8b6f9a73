import CLatchkeyPages
import Foundation
import LatchkeyHTTP
import LatchkeyOperations
import LatchkeyStore
import LatchkeyStrategies
import Testing

@testable import LatchkeyFrame
@testable import LatchkeyService

/// Problems and the table of strategies.
struct ProtocolTests {
    @Test(arguments: Problem.allCases)
    func `a problem is whole`(problem: Problem) throws {
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(problem.json())) as? [String: Any]
        )
        #expect(object["type"] as? String == "/problems/\(problem.rawValue)")
        #expect(object["status"] as? Int == problem.status)
        #expect(object["title"] as? String == problem.title)
        #expect(object["detail"] as? String == problem.advice)
        #expect((400...599).contains(problem.status))
        #expect(problem.title.hasSuffix(".") && problem.advice.hasSuffix("."))
    }

    @Test func `the pages of problems name the bounds that hold`() {
        let standard = ServiceConfiguration.standard
        let (operations, fetching) = (standard.operationLimits, standard.fetching)
        #expect(operations.historyCountMax == ForeignBounds.operationHistoryCountMax)
        #expect(operations.byteCountMax == ForeignBounds.operationByteCountMax)
        #expect(fetching.timeLimit == .seconds(ForeignBounds.fetchSeconds))
        #expect(fetching.byteCountMax == ForeignBounds.fetchByteCountMax)
        #expect(standard.exportCountMax == ForeignBounds.exportCountMax)
        let own = standard.storeLimits.changeUnitsMax
        #expect(Problem.transactionTooLarge.advice.contains("\(own) units"))
        let target = standard.http.targetBytesMax
        #expect(Problem.targetTooLong.advice.contains("at most \(target) bytes"))
        let keys = standard.idempotency.keyCountMax
        #expect(Problem.tooManyIdempotencyKeys.advice.contains("\(keys) keys"))
    }

    @Test(arguments: Problem.allCases)
    func `a problem is in the contract, and its example has the same title`(
        problem: Problem
    ) throws {
        let contract = unsafe String(decoding: latchkey_pages_contract().bytes, as: UTF8.self)
        let lines = contract.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(lines.contains("- \(problem.rawValue)"))
        #expect(
            lines.contains { $0.hasPrefix("| `\(problem.rawValue)` | \(problem.status) | ") }
        )
        let examples = lines.indices.filter { lines[$0] == "type: \(problem.path)" }
        for index in examples {
            #expect(lines[index + 1] == "title: \(problem.title)")
            #expect(lines[index + 2] == "status: \(problem.status)")
        }
    }

    @Test func `a detail stands in for the advice`() throws {
        let text = String(decoding: Problem.notFound.json(detail: "a \"b\""), as: UTF8.self)
        #expect(
            text == #"{"type":"/problems/not-found","title":"There is no such property.","#
                + #""status":404,"detail":"a \"b\""}"#
        )
    }

    @Test func `the strategies are a table`() throws {
        let json = StrategyTable.json(serving: .lock)
        let table = try #require(
            try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any]
        )
        #expect(table["serving"] as? String == "lock")
        let rows = try #require(table["strategies"] as? [[String: Any]])
        for (row, kind) in zip(rows, StrategyKind.allCases) {
            let traits = try #require(row["traits"] as? [String: Bool])
            #expect(traits.count == 7)
            #expect(traits["spins"] == kind.traits.spins)
            #expect(traits["reentrant"] == kind.traits.isReentrant)
        }
    }
}
