import LatchkeyService
import LatchkeySettings
import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyCommandLine
@testable import latchkey

/// `--quota` as operators and clients see it.
@Suite(.timeLimit(.minutes(3)), .serialized)
struct QuotaServingTests {
    private static let merge = ["Content-Type: application/merge-patch+json"]

    @Test(
        arguments: Deployment.inThisProcess,
        [StrategyKind.lock, .snapshot, .serialQueueAsync, .barrierQueueAsync, .actor]
    )
    func `each way to change a property is refused at a quota`(
        deployment: Deployment,
        kind: StrategyKind
    ) async throws {
        let flags = ["--strategy", kind.rawValue, "--quota", "app/=20", "--quota=app/b/=12B"]
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

    @Test func `without quotas there are no metrics of them`() async throws {
        try await Deployment.inProcess.serve { site in
            let metrics = try site.ask("GET", "/metrics").text
            #expect(!metrics.contains("latchkey_quota") && !metrics.contains("\"quota\""))
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

    @Test(arguments: [StrategyKind.lock, .barrierQueueAsync, .actor])
    func `a restart with a lower quota keeps everything, and refuses only growth`(
        kind: StrategyKind
    ) async throws {
        try await offPool {
            let folder = try TemporaryFolder()
            func start(_ quota: String) throws -> (program: Program, site: Site) {
                let program = try Program([
                    "serve", "--port", "0", "--log-level", "warning", "--strategy", kind.rawValue,
                    "--data", folder.path + "/data", "--quota", quota,
                ])
                return (program, Site(port: try program.awaitPort()))
            }
            func used(_ site: Site) throws -> String {
                let metrics = try site.ask("GET", "/metrics").text
                let line = metrics.split(separator: "\n").first {
                    $0.hasPrefix("latchkey_bound_used{bound=\"quota\"")
                }
                return String(try #require(line?.split(separator: " ").last))
            }
            var (program, site) = try start("a=100")
            #expect(try site.ask("PUT", "/v1/properties/a1", "1234567890").status == 201)
            #expect(try site.ask("PUT", "/v1/properties/a2", "1234567890").status == 201)
            #expect(try site.ask("PUT", "/v1/properties/a3", "1").status == 201)
            #expect(try site.ask("DELETE", "/v1/properties/a3").status == 204)
            #expect(try used(site) == "24")
            #expect(program.end() == 0)

            (program, site) = try start("a=13")
            #expect(try used(site) == "24")
            #expect(try site.ask("PUT", "/v1/properties/a3", "1").problem == "quota-exceeded")
            #expect(try site.ask("PUT", "/v1/properties/a1", "9987654321").status == 204)
            #expect(try site.ask("PUT", "/v1/properties/a1", "99876543210").status == 507)
            #expect(try site.ask("PUT", "/v1/properties/a1", "998765").status == 204)
            let move = #"{"then":[{"delete":"a2"},{"put":"a4","value":1234567890}]}"#
            #expect(try site.ask("POST", "/v1/transactions", move).status == 200)
            #expect(try site.ask("DELETE", "/v1/properties/a4").status == 204)
            #expect(try used(site) == "8")
            #expect(try site.ask("PUT", "/v1/properties/a3", "1234").problem == "quota-exceeded")
            #expect(try site.ask("PUT", "/v1/properties/a3", "123").status == 201)
            #expect(program.end() == 0)
        }
    }

    @Test(arguments: [
        (["--quota", "=5"], "needs a prefix. --max-bytes bounds all properties."),
        (["--quota", "a=1", "--quota=a=2"], "names the prefix 'a' twice."),
        (["--quota", "a=1,b=2,%61=3"], "names the prefix 'a' twice."),
        (["--quota", "a"], "takes prefixes and bytes, such as app/=64MiB, or none, not 'a'."),
        (
            ["--quota", "a=1,none"],
            "takes prefixes and bytes, such as app/=64MiB, or none, not 'none'."
        ),
        (
            ["--quota", "a=0"],
            "takes a whole number from 1 to 1125899906842624 bytes behind '=', such as 512KiB or "
                + "2MB, not '0'."
        ),
        (
            ["--quota", "a%FF=1"],
            "takes prefixes of 1 to 256 bytes of percent-encoded UTF-8 without control characters, "
                + "not 'a%FF'."
        ),
    ])
    func `a wrong quota is refused in a sentence`(flags: [String], sentence: String) throws {
        let error = #expect(throws: UsageError.self) {
            try ServeCommand.configuration(flags) { _ in nil }
        }
        #expect(error?.message == "--quota \(sentence)")
    }

    @Test func `quotas are read with units, from several flags, up to a bound`() throws {
        let setting = try #require(ServiceConfiguration.settings.first { $0.name == "quota" })
        func quotas(_ flags: [String]) throws -> String {
            setting.text(in: try ServeCommand.configuration(flags) { _ in nil })
        }
        let read = try quotas(["--quota", "a b=1KiB,é/=2MB", "--quota=x=y%25=7"])
        #expect(read == "a b=1024,é/=2000000,x=y%25=7")
        #expect(try quotas(["--quota", "none"]) == "none")
        #expect(try quotas([]) == "none")
        let many = (0..<64).map { "p\($0)=1" }.joined(separator: ",")
        #expect(try quotas(["--quota", many]) == many)
        let error = #expect(throws: UsageError.self) {
            try quotas(["--quota", many, "--quota=q=1"])
        }
        #expect(error?.message == "--quota takes at most 64 quotas, not 65.")
    }
}
