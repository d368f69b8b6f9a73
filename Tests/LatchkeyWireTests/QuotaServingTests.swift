import LatchkeyTestSupport
import Testing

/// `--quota` as operators and clients see it.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct QuotaServingTests {
    private static let merge = ["Content-Type: application/merge-patch+json"]

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `each way to change a property is refused at a quota`(deployment: Deployment) async throws
    {
        let flags = ["--quota", "app/=20", "--quota=app/b/=12B"]
        try await deployment.serve(flags) { site in
            func answer(
                _ method: String,
                _ target: String,
                _ body: String? = nil,
                _ headers: [String] = []
            ) throws -> String {
                let answer = try site.ask(method, target, body, headers: headers)
                return answer.problem ?? "\(answer.status)"
            }
            let a = "/v1/properties/app%2Fa"
            #expect(try answer("PUT", a, "12345") == "201")
            #expect(try answer("PUT", "/v1/properties/app%2Fb%2Fc", "99") == "201")
            let full = try site.ask("PUT", a, "12345678")
            #expect((full.status, full.problem) == (507, "quota-exceeded"))
            #expect(full.text.contains("begin with 'app/' may have 20 bytes"))
            let nested = try site.ask(
                "POST",
                "/v1/properties/app%2Fb%2Fc/increment",
                #"{"by":99999}"#
            )
            #expect(nested.problem == "quota-exceeded")
            #expect(nested.text.contains("begin with 'app/b/' may have 12 bytes"))
            #expect(try answer("PUT", a, "123456") == "204", "at the bound")
            #expect(
                try answer("POST", "/v1/properties/app%2Fa/increment", #"{"by":9000000}"#)
                    == "quota-exceeded"
            )
            #expect(try answer("PATCH", a, #"{"member":1}"#, Self.merge) == "quota-exceeded")
            let steps = #"{"then":[{"put":"other","value":1},{"put":"app/d","value":1}]}"#
            #expect(try answer("POST", "/v1/transactions", steps) == "quota-exceeded")
            #expect(try answer("GET", "/v1/properties/other") == "not-found", "all or nothing")
            let lines = #"{"name":"x","value":1}"# + "\n" + #"{"name":"app/x","value":1}"#
            let imported = try site.ask("POST", "/v1/import?partial=true&batch=1", lines)
            #expect((imported.status, imported.problem) == (507, "quota-exceeded"))
            let object = imported.json as? [String: Any]
            #expect(object?["line"] as? Int == 2 && object?["imported"] as? Int == 1)
            let id = try site.submit(#"{"steps":[{"put":"app/y","value":1}]}"#).operation.id
            _ = try site.events(of: id)
            #expect(try site.operation(id).problem == "quota-exceeded")
            #expect(try answer("GET", "/v1/properties/app%2Fy") == "not-found")
            #expect(try answer("DELETE", a) == "204")
            #expect(try answer("POST", "/v1/transactions", steps) == "200")
            let metrics = try site.ask("GET", "/metrics").text
            for line in [
                #"latchkey_bound_used{bound="quota",effect="refuses",prefix="app/"} 15"#,
                #"latchkey_bound_used{bound="quota",effect="refuses",prefix="app/b/"} 9"#,
                #"latchkey_bound_limit{bound="quota",effect="refuses",prefix="app/"} 20"#,
                #"latchkey_bound_limit{bound="quota",effect="refuses",prefix="app/b/"} 12"#,
                #"latchkey_quota_refusals_total{prefix="app/"} 6"#,
                #"latchkey_quota_refusals_total{prefix="app/b/"} 1"#,
            ] {
                let isThere = metrics.contains("\n\(line)\n")
                #expect(isThere, "\(line)")
            }
        }
    }

    @Test func `the label of a prefix is escaped`() async throws {
        let flags = ["--quota", "say \"é\\,=1KiB".replacing(",", with: "%2c")]
        try await Deployment.inProcess.serve(flags) { site in
            let name = "/v1/properties/say%20%22%C3%A9%5C%2C%20this"
            #expect(try site.ask("PUT", name, "12").status == 201)
            let metrics = try site.ask("GET", "/metrics").text
            #expect(metrics.contains("prefix=\"say \\\"é\\\\,\"} 16\n"))
        }
    }
}
