import LatchkeyClient
import LatchkeyTestSupport
import Testing

/// Exit statuses, and the messages beside them.
struct StatusTests {
    private static func failure(
        _ status: Int,
        _ body: String,
        hasToken: Bool = true,
        fields: String = ""
    ) -> ClientFailure {
        let type = "Content-Type: application/problem+json\r\n"
        let answer = ClientAnswer(
            status: status,
            head: Array((type + fields).utf8),
            body: Array(body.utf8)
        )
        return ClientFailure(answer, from: "http://a", hasToken: hasToken)
    }

    private static let cases: [(status: Int, problem: String?, exit: ClientStatus)] = [
        (404, "not-found", .missing), (404, "no-route", .failed), (404, nil, .failed),
        (412, "precondition-failed", .unmet),
        (401, "unauthorized", .refused), (403, "forbidden", .refused),
        (429, "rate-exceeded", .refused), (503, "draining", .refused),
        (507, "store-full", .refused), (400, "malformed-json", .failed),
        (409, "not-an-integer", .failed), (500, "outcome-unknown", .unknown),
        (500, "answer-not-kept", .unknown),
    ]

    @Test(arguments: cases)
    func `a status has its exit status`(status: Int, problem: String?, exit: ClientStatus) {
        #expect(ClientStatus(of: status, problem: problem) == exit)
        let body = problem.map { #"{"type":"/problems/\#($0)","title":"A title."}"# } ?? "<html>"
        #expect(Self.failure(status, body).status == exit)
    }

    @Test func `each exit status is in the manuals, and no other`() {
        let numbers = ClientStatus.manual.split(separator: "\n").dropFirst()
            .compactMap { $0.split(separator: " ").first.flatMap { Int32($0) } }
        #expect(numbers == ClientStatus.allCases.map(\.rawValue))
    }

    @Test func `the name of a missing property is shown, whatever the service sends`() {
        func said(_ members: String) -> String {
            Self.failure(404, #"{"type":"/problems/not-found",\#(members)}"#).message
        }
        let named = said(#""title":"None.","detail":"There is no `a. b`. Make it.""#)
        #expect(named == "There is no `a. b`.")
        #expect(said(#""title":"There is no `a`. Sorry.""#) == "There is no `a`. Sorry.")
        #expect(said(#""title":"None.","detail":"Make it.""#) == "None.")
    }

    @Test func `a problem's sentences are said, and what to do without a token`() {
        let body = #"{"type":"/problems/unauthorized","title":"No token.","detail":"Give one."}"#
        #expect(Self.failure(401, body).message == "No token. Give one.")
        let without = Self.failure(401, body, hasToken: false).message
        #expect(without.hasPrefix("No token. Give one. Set LATCHKEY_TOKEN"))
        #expect(Self.failure(502, "<html>").message == "http://a answers with status 502.")
        #expect(Self.failure(503, "", fields: "Retry-After: 3\r\n").retryAfter == 3)
    }
}
