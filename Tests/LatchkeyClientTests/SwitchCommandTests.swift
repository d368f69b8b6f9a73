import LatchkeyCommandLine
import Testing

@testable import LatchkeyClient
@testable import latchkey

/// The messages of `latchkey switch` when there is no switch.
struct SwitchCommandTests {
    typealias Step = ScriptedService.Step

    private static let switched = Step.answers(
        200,
        "application/json",
        #"{"from":"lock","to":"spin","seconds":1,"longestHoldSeconds":0,"longestAccessSeconds":0}"#
    )

    private static func failure(_ service: ScriptedService) throws -> ClientFailure? {
        let values = try OneRequest.switch.values(["spin"]) { _ in nil }
        do throws(ClientFailure) {
            try OneRequest.switch.finish(values, Client(service))
            return nil
        } catch {
            return error
        }
    }

    /// A second try would switch after the other switch, which the caller may not want.
    @Test func `a switch during another one changes nothing, says so, and is not repeated`()
        throws
    {
        let service = ScriptedService([.problem(409, "switch-under-way"), Self.switched])
        let failure = try #require(try Self.failure(service))
        #expect(failure.status.rawValue == 1, "nothing was changed")
        #expect(failure.message == "A title. A detail.")
        #expect(service.lineage == ["PUT /v1/strategy"])
        #expect(service.keys == [nil])
    }

    /// If it is sent again, it can meet itself.
    @Test func `a switch whose answer is lost may have been made, and is not repeated`() throws {
        for step in [Step.fails(.broken), .silent] {
            let service = ScriptedService([step, Self.switched])
            #expect(try #require(try Self.failure(service)).status.rawValue == 6)
            #expect(service.requests.count == 1)
        }
    }
}
