import LatchkeyTestSupport
import Testing

/// `--quota` as operators and clients see it.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct QuotaServingTests {
    private static let merge = ["Content-Type: application/merge-patch+json"]

    /// Each after the other: a request, its problem or status, and a part of its answer.
    private static let cases: [(String, String, String?, String, String)] = [
        ("PUT", "properties/app%2Fa", "12345", "201", ""),
        ("PUT", "properties/app%2Fb%2Fc", "99", "201", ""),
        (
            "PUT", "properties/app%2Fa", "12345678", "quota-exceeded",
            "begin with 'app/' may have 20 bytes"
        ),
        (
            "POST", "properties/app%2Fb%2Fc/increment", #"{"by":99999}"#, "quota-exceeded",
            "begin with 'app/b/' may have 12 bytes"
        ),
        // At the limit.
        ("PUT", "properties/app%2Fa", "123456", "204", ""),
        ("POST", "properties/app%2Fa/increment", #"{"by":9000000}"#, "quota-exceeded", ""),
        ("PATCH", "properties/app%2Fa", #"{"member":1}"#, "quota-exceeded", ""),
        ("POST", "transactions", steps, "quota-exceeded", ""),
        // All or nothing.
        ("GET", "properties/other", nil, "not-found", ""),
        ("POST", "import?partial=true&batch=1", lines, "quota-exceeded", #""imported":1"#),
        ("DELETE", "properties/app%2Fa", nil, "204", ""),
        ("POST", "transactions", steps, "200", ""),
    ]
    private static let steps =
        #"{"then":[{"put":"other","value":1},{"put":"app/d","value":1}]}"#
    private static let lines = #"{"name":"x","value":1}"# + "\n" + #"{"name":"app/x","value":1}"#

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `each way to change a property is refused at a quota`(deployment: Deployment) async throws
    {
        // The label of the last one is escaped.
        let flags = ["app/=20", "app/b/=12B", "say \"é\\%2c=1KiB"].flatMap { ["--quota", $0] }
        try await deployment.serve(flags) { site in
            for (method, target, body, outcome, part) in Self.cases {
                let headers = method == "PATCH" ? Self.merge : []
                let answer = try site.ask(method, "/v1/" + target, body, headers: headers)
                #expect((answer.problem ?? "\(answer.status)") == outcome, "\(method) \(target)")
                #expect(answer.problem != "quota-exceeded" || answer.status == 507)
                #expect(part.isEmpty || answer.text.contains(part), "\(answer.text)")
            }
            let id = try site.submit(#"{"steps":[{"put":"app/y","value":123456789}]}"#).operation.id
            _ = try site.events(of: id)
            #expect(try site.operation(id).problem == "quota-exceeded")
            let name = "/v1/properties/say%20%22%C3%A9%5C%2C%20this"
            #expect(try site.ask("PUT", name, "12").status == 201)
            let metrics = try site.ask("GET", "/metrics").text
            for line in [
                #"latchkey_bound_used{bound="quota",effect="refuses",prefix="app/"} 15"#,
                #"latchkey_bound_limit{bound="quota",effect="refuses",prefix="app/b/"} 12"#,
                #"latchkey_bound_used{bound="quota",effect="refuses",prefix="say \"é\\,"} 16"#,
                #"latchkey_quota_refusals_total{prefix="app/"} 6"#,
                #"latchkey_quota_refusals_total{prefix="app/b/"} 1"#,
            ] {
                let isThere = metrics.contains("\n\(line)\n")
                #expect(isThere, "\(line)")
            }
        }
    }
}
