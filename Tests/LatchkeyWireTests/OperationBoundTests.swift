import LatchkeyTestSupport
import Testing

/// Limits and bad input of operations: each gets a clear error, and nothing is accepted.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct OperationBoundTests {
    private static func steps(_ count: Int) -> String {
        Array(repeating: #"{"get":"a"}"#, count: count).joined(separator: ",")
    }

    @Test func `bodies that are no operations are refused`() async throws {
        let one = Self.steps(1)
        let bodies: [(String, status: Int, problem: String)] = [
            ("{", 400, "malformed-json"), ("[]", 400, "invalid-body"), ("{}", 400, "invalid-body"),
            (#"{"steps":[]}"#, 400, "invalid-body"),
            (#"{"steps":[\#(Self.steps(129))]}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"catch":[\#(Self.steps(129))]}"#, 400, "invalid-body"),
            (#"{"steps":[{"get":"a","put":"b"}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"run":"a"}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"put":""}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"put":"a","patch":1}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"wait":-1}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"wait":1,"get":"a"}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"wait":3600.001}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"import":1}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"transaction":{"then":[\#(Self.steps(129))]}}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"compare":{"strategies":["none"]}}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"compare":{"threads":65}}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"compare":{"seconds":0.099}}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"fetch":"no url"}]}"#, 400, "invalid-body"),
            (#"{"steps":[{"fetch":"http://example.org/"}]}"#, 422, "fetch-not-allowed"),
            (#"{"steps":[\#(one)],"priority":"urgent"}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"priority":1}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"id":"a b"}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"after":-0.001}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"dependsOn":"a"}"#, 400, "invalid-body"),
            (#"{"steps":[\#(one)],"dependsOn":["unknown"]}"#, 422, "unknown-dependency"),
            (#"{"steps":[\#(one)],"id":"a","dependsOn":["a"]}"#, 409, "dependency-cycle"),
            (#"{"steps":[\#(one)],"twice":1}"#, 400, "invalid-body"),
            (#"{"operations":[]}"#, 400, "invalid-body"),
            (
                #"{"operations":[{"id":"a","dependsOn":["b"],"steps":[\#(one)]},"#
                    + #"{"id":"b","dependsOn":["a"],"steps":[\#(one)]}]}"#,
                409, "dependency-cycle"
            ),
            (
                #"{"operations":[{"id":"a","steps":[\#(one)]},{"id":"a","steps":[\#(one)]}]}"#,
                409, "operation-exists"
            ),
        ]
        try await Deployment.inProcess.serve { site in
            for (body, status, problem) in bodies {
                let answer = try site.submit(body)
                #expect(answer.problem == problem, "\(body): \(answer.text)")
                #expect(answer.status == status)
                #expect(try site.ask("GET", "/problems/\(problem)").status == 200)
            }
            #expect(try site.list("").isEmpty, "nothing was accepted")
            let right = [
                #"{"steps":[\#(Self.steps(128))],"catch":[\#(Self.steps(128))]}"#,
                #"{"id":"taken","after":3600,"steps":[{"wait":3600}]}"#,
            ]
            for body in right { #expect(try site.submit(body).status == 202) }
            #expect(try site.submit(right[1]).problem == "operation-exists")
            for target in ["none", "a%20b", "none/events"] {
                let answer = try site.ask("GET", "/v1/operations/\(target)")
                #expect(answer.problem == "operation-not-found", "\(target)")
            }
            #expect(try site.ask("DELETE", "/v1/operations/none").status == 404)
            for query in ["state=done", "limit=0", "limit=1001", "after=x", "page=1"] {
                #expect(try site.ask("GET", "/v1/operations?\(query)").problem == "invalid-query")
            }
            try site.isWell()
        }
    }

    @Test func `operations are bounded, alone and together`() async throws {
        let body = #"{"after":3600,"steps":[{"get":"a"}]}"#
        try await Deployment.inProcess.serve { site in
            let client = try site.client()
            func submit(_ body: String) throws -> HTTPAnswer {
                try client.request("POST", "/v1/operations", body: Array(body.utf8))
            }
            for _ in 0..<999 { #expect(try submit(body).status == 202) }
            let two = try submit(#"{"operations":[\#(body),\#(body)]}"#)
            #expect(two.problem == "too-many-operations", "all of them or none")
            #expect(two.headers["retry-after"] == "1")
            #expect(try submit(body).status == 202)
            #expect(try submit(body).status == 503)
            let newest = try site.list("?limit=1")[0]
            #expect(try site.ask("DELETE", "/v1/operations/\(newest)").status == 202)
            #expect(try submit(body).status == 202, "a cancelled one makes room")
        }
    }

    @Test func `the history is bounded, in number and in bytes`() async throws {
        let limits = "operation-history=2,max-operation-bytes=1000"
        try await Deployment.inProcess.serve(limits: limits) { site in
            func run(_ id: String, byteCount: Int) throws -> Int {
                let value = String(repeating: "a", count: byteCount)
                let body = #"{"id":"\#(id)","steps":[{"put":"p","value":"\#(value)"}]}"#
                let status = try site.submit(body).status
                if status == 202 { _ = try site.events(of: id) }
                return status
            }
            for id in ["a", "b", "c"] { #expect(try run(id, byteCount: 10) == 202) }
            #expect(try site.list("") == ["c", "b"])
            #expect(try run("d", byteCount: 800) == 202)
            #expect(try run("e", byteCount: 800) == 202)
            #expect(try site.list("") == ["e"], "values of ended operations make room")
            #expect(try run("f", byteCount: 1000) == 503)
            #expect(try site.list("") == ["e"])
            try site.isWell()
        }
    }
}
