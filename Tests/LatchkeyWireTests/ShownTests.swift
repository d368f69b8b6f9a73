import Foundation
import LatchkeyTestSupport
import Testing

/// The shown values, and the right that they need: every operation of openapi.yaml, and every step.
///
/// Two tokens have the same rights, but for the one to read what begins with `s/`.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct ShownTests {
    /// The text in all values whose names begin with `s/`, and nowhere else.
    private static let secret = "73310042"

    /// A request whose answer shows the secret to a client that may read it.
    private struct Way: Sendable {
        let method: String
        let target: String
        var body: String?
        var fields: [String] = []

        init(_ method: String, _ target: String, _ body: String? = nil, _ fields: String...) {
            (self.method, self.target, self.body, self.fields) = (method, target, body, fields)
        }

        func ask(_ site: Site, _ others: [String] = []) throws -> HTTPAnswer {
            try site.ask(method, target, body, headers: fields + others)
        }

        /// The status and the text; of a stream, which does not end by itself, the first event.
        func look(_ site: Site) throws -> (status: Int, text: String) {
            guard target.hasPrefix("/v1/watch") else {
                let answer = try ask(site)
                return (answer.status, answer.text)
            }
            let stream = try site.stream(target)
            return (stream.status, stream.status == 200 ? try stream.next()?.data ?? "" : "")
        }
    }

    /// By the name of the operation.
    private static let shown: [String: [Way]] = [
        "getProperty": [
            Way("GET", "/v1/properties/s%2Fx"), Way("GET", "/v1/properties/s%2Fx?after=0"),
            Way("GET", "/v1/properties/s%2Fx?consistency=linearizable"),
        ],
        "patchProperty": [
            Way("PATCH", "/v1/properties/s%2Fx", "{}", "Content-Type: application/merge-patch+json")
        ],
        "incrementProperty": [Way("POST", "/v1/properties/s%2Fn/increment", #"{"by":0}"#)],
        "listProperties": [
            Way("GET", "/v1/properties"), Way("GET", "/v1/properties?prefix=s/"),
            Way("GET", "/v1/properties?name=s/x"),
        ],
        "listChanges": [Way("GET", "/v1/changes"), Way("GET", "/v1/changes?prefix=s/")],
        "watch": [
            Way("GET", "/v1/watch?initial=true&prefix=s/"),
            Way("GET", "/v1/watch?after=0&name=s/x"), Way("GET", "/v1/watch?after=0&match=s/*"),
        ],
        "commitTransaction": [
            Way("POST", "/v1/transactions", #"{"then":[{"get":"s/x"}]}"#),
            Way("POST", "/v1/transactions", #"{"then":[{"increment":"s/n","by":0}]}"#),
            Way("POST", "/v1/transactions", #"{"then":[{"merge":"s/x","patch":{}}]}"#),
            Way("POST", "/v1/transactions", #"{"then":[{"pop":"s/"}]}"#),
            Way(
                "POST",
                "/v1/transactions?wait=1",
                #"{"then":[{"pop":"s/","claim":"o/c/","ttl":9}]}"#
            ),
            Way(
                "POST",
                "/v1/transactions",
                #"{"if":[{"name":"o/none","exists":true}],"then":[],"else":[{"get":"s/x"}]}"#
            ),
        ],
        "evaluateFlag": [Way("POST", "/ofrep/v1/evaluate/flags/x", "{}")],
        "evaluateFlags": [Way("POST", "/ofrep/v1/evaluate/flags", "{}")],
        "popProperty": [
            Way("POST", "/v1/pop?prefix=s/"), Way("POST", "/v1/pop?prefix=s/&claim=o/c/&ttl=9"),
        ],
        "exportProperties": [Way("GET", "/v1/export"), Way("GET", "/v1/export?prefix=s/")],
        "getOperation": [], "watchOperation": [], "cancelOperation": [],
    ]

    /// Operations that show no value: only which names exist, and how many, or nothing of
    /// properties.
    ///
    /// A backup has all, and a right of its own.
    private static let silent: Set = [
        "headProperties", "deleteProperties", "headProperty", "putProperty", "deleteProperty",
        "touchProperty", "countProperties", "headCount", "headChanges", "headWatch", "headExport",
        "importProperties", "submitOperations", "listOperations", "listStrategies", "getStrategy",
        "switchStrategy", "getContention",
        "resetContention", "getBackup", "headBackup", "promoteReplica", "getOverview", "getCluster",
        "listWatches", "getContentionProfile", "getMetrics", "getHealth", "getReadiness",
        "getVersion", "getContract", "getProblem", "getIndex", "openSession", "closeSession",
    ]

    /// Steps of an operation whose value has the secret, by the kind of the last one.
    private static let steps: [String: String] = [
        "get": #"{"get":"s/x"}"#, "touch": #"{"touch":"s/x","ttl":50}"#,
        "increment": #"{"increment":"s/n","by":0}"#, "merge": #"{"merge":"s/x","patch":{}}"#,
        "transaction": #"{"transaction":{"then":[{"get":"s/x"}]}}"#,
        "put": #"{"touch":"s/x","ttl":50},{"put":"o/y"}"#, "wait": #"{"get":"s/x"},{"wait":0}"#,
    ]

    /// The others: their values have nothing of a property.
    private static let silentSteps: Set = ["delete", "import", "compare", "fetch"]

    private static let rights = ["operations,fetch,compare,export,import,admin", "write"]
    private static let blind = rights + ["read:o/"]
    private static let seeing = rights + ["read"]

    private static func reset(_ site: Site) throws {
        for prefix in ["o/", "s/", "flags/"] {
            #expect(try site.ask("DELETE", "/v1/properties?prefix=\(prefix)").status == 200)
        }
        let object = "{\"k\":\(secret)}"
        for (name, value) in [("s%2Fx", object), ("s%2Fn", secret), ("flags%2Fx", object)] {
            #expect(try site.ask("PUT", "/v1/properties/\(name)", value).status == 201)
        }
    }

    @Test func `each operation and each step of the contract is in one of the tables`() async throws
    {
        try await Deployment.inProcess.serve { site in
            let lines = try site.ask("GET", "/openapi.yaml").text
                .split(separator: "\n", omittingEmptySubsequences: false)
            let operations = lines.compactMap { line in
                line.split(separator: "operationId: ").dropFirst().first.map(String.init)
            }
            #expect(operations.count > 40)
            #expect(Set(operations) == Self.silent.union(Self.shown.keys))
            #expect(Self.silent.isDisjoint(with: Self.shown.keys))
            func schema(_ name: some StringProtocol) -> ArraySlice<Substring> {
                lines.drop { $0 != "    \(name):" }.dropFirst().prefix { $0.hasPrefix("      ") }
            }
            // A step is one of several schemas, each of which requires the member of its kind.
            let kinds = Set(
                schema("OperationStep").compactMap { $0.split(separator: "schemas/").last }
                    .filter { $0.hasSuffix("Step\"") }
                    .compactMap { name in
                        schema(name.dropLast()).first { $0.contains("required: [") }?
                            .split { "[,]".contains($0) }.dropFirst().first.map(String.init)
                    }
            )
            #expect(kinds == Self.silentSteps.union(Self.steps.keys))
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `a value is shown to clients that may read it, and to no other client`(
        deployment: Deployment
    ) async throws {
        let tokens = try Tokens(["blind": Self.blind, "seeing": Self.seeing])
        try await deployment.serve(tokens.flags) { site in
            let (blind, seeing) = (site.with(tokens, "blind"), site.with(tokens, "seeing"))
            for way in Self.shown.values.joined() {
                try Self.reset(seeing)
                let refused = try way.look(blind)
                #expect(refused.status == 403, "\(way) \(refused.text)")
                #expect(!refused.text.contains(Self.secret), "\(way)")
                let answer = try way.look(seeing)
                #expect(answer.text.contains(Self.secret), "\(way) \(answer.text)")
            }
            for (kind, steps) in Self.steps {
                try Self.reset(seeing)
                let body = #"{"steps":[\#(steps)]}"#
                #expect(try blind.submit(body).status == 403, "\(kind)")
                let id = try seeing.submit(body).operation.id
                #expect(try seeing.events(of: id).states.last == "finished", "\(kind)")
                for (_, text) in try Self.texts(of: id, for: seeing) {
                    #expect(text.contains(Self.secret), "\(kind) \(text)")
                }
                // It may see everybody's operations, as an admin.
                for (status, text) in try Self.texts(of: id, for: blind) {
                    #expect(status == 403 && !text.contains(Self.secret), "\(kind) \(text)")
                }
                let list = try blind.ask("GET", "/v1/operations").text
                #expect(list.contains(id) && !list.contains(Self.secret), "\(kind)")
            }
            // Others can read a value that a step writes.
            for step in [#"{"put":"o/y"}"#, #"{"merge":"o/y"}"#, #"{"import":null}"#] {
                let body = #"{"steps":[{"touch":"s/x","ttl":50},\#(step)]}"#
                #expect(try blind.submit(body).status == 403)
            }
        }
    }

    /// The answers of three requests about an operation that has finished, with their statuses.
    private static func texts(of id: String, for site: Site) throws -> [(Int, String)] {
        let target = "/v1/operations/\(id)"
        return try [("GET", target), ("DELETE", target), ("GET", target + "/events")].map {
            let answer = try site.ask($0, $1)
            return (answer.status, answer.text)
        }
    }

    @Test func `a client that follows an operation and loses a right gets no more events`()
        async throws
    {
        let rights = [
            "one": ["operations", "read"], "boss": ["operations,admin"], "see": ["read"],
        ]
        for (loser, right) in [("one", "operations "), ("boss", ",admin")] {
            let tokens = try Tokens(rights)
            try await Deployment.inProcess.run(tokens.flags) { site, service in
                let one = site.with(tokens, "one")
                let id = try one.submit(#"{"steps":[{"wait":3600}]}"#).operation.id
                let target = "/v1/operations/\(id)/events"
                let stream = try site.with(tokens, loser).stream(target)
                #expect(try stream.events { $0.data.contains("executing") }.count > 0)
                let lines = tokens.lines().split(separator: "\n").map {
                    $0.hasPrefix(loser) ? String($0).replacing(right, with: "") : String($0)
                }
                try (lines.joined(separator: "\n") + "\n")
                    .write(toFile: tokens.path, atomically: true, encoding: .utf8)
                service.reload()
                let other = site.with(tokens, loser == "one" ? "boss" : "one")
                #expect(try other.ask("DELETE", "/v1/operations/\(id)").status == 202)
                var rest: [EventStreamParser.Event] = []
                try eventually("the stream of \(loser) is closed") {
                    rest += try stream.events { $0.type == "close" }
                    return rest.last?.type == "close"
                }
                #expect(!rest.contains { $0.data.contains("cancelled") }, "\(loser)")
            }
        }
    }

    /// The answers that are kept, the operations that have finished, and those that go on.
    @Test func `a token that has lost the right to read sees no value any more`() async throws {
        let tokens = try Tokens(["one": Self.seeing])
        try await Deployment.inProcess.run(tokens.flags) { site, service in
            let one = site.with(tokens, "one")
            let kept = Self.shown.values.joined().filter { way in
                way.method != "GET" && !way.target.hasPrefix("/ofrep")
            }
            #expect(kept.count > 8)
            for (number, way) in kept.enumerated() {
                try Self.reset(one)
                let answer = try way.ask(one, ["Idempotency-Key: \(number)"])
                #expect(answer.text.contains(Self.secret), "\(way)")
            }
            let put = Way("PUT", "/v1/properties/o%2Fz", "1", "Idempotency-Key: put")
            #expect(try put.ask(one).status == 201)
            try Self.reset(one)
            let steps = #"{"get":"s/x"},{"wait":0}"#
            let id = try one.submit(#"{"steps":[\#(steps)]}"#).operation.id
            #expect(try one.events(of: id).states.last == "finished")
            let long = #"{"id":"long","steps":[{"get":"s/x"},{"wait":2},{"put":"o/y"}]}"#
            #expect(try one.submit(long).status == 202)
            try eventually("it has read") {
                try one.operation("long").members["step"] as? Int == 2
            }
            try tokens.lines().replacing(" read", with: " read:o/")
                .write(toFile: tokens.path, atomically: true, encoding: .utf8)
            service.reload()
            for (number, way) in kept.enumerated() {
                let answer = try way.ask(one, ["Idempotency-Key: \(number)"])
                #expect(answer.status == 403 && answer.problem == "forbidden", "\(way)")
                #expect(!answer.text.contains(Self.secret), "\(way)")
            }
            let repeated = try put.ask(one)
            #expect(repeated.status == 201)
            #expect(repeated.headers["idempotency-replayed"] == "true", "it shows no value")
            for (status, text) in try Self.texts(of: id, for: one) {
                #expect(status == 403 && !text.contains(Self.secret), "\(text)")
            }
            // A value that it has read before is not written elsewhere.
            #expect(try one.events(of: "long").states.last == "failed")
            #expect(try one.operation("long").problem == "forbidden")
            #expect(try one.ask("GET", "/v1/properties/o%2Fy").status == 404)
            // The answers are still kept: a right can be given back.
            try tokens.lines().write(toFile: tokens.path, atomically: true, encoding: .utf8)
            service.reload()
            for (number, way) in kept.enumerated() {
                let answer = try way.ask(one, ["Idempotency-Key: \(number)"])
                #expect(answer.text.contains(Self.secret), "\(way)")
                #expect(answer.headers["idempotency-replayed"] == "true", "\(way)")
            }
        }
    }
}
