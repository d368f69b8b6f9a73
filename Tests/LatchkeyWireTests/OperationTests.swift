import Foundation
import LatchkeyTestSupport
import Testing

/// Operations over HTTP.
@Suite(.timeLimit(.minutes(15)), .serialized)
struct OperationTests {
    @Test(arguments: Deployment.allCases)
    func `an operation is accepted, executed and shown`(deployment: Deployment) async throws {
        try await deployment.serve(["--strategy", "serial-queue-async"]) { site in
            let answer = try site.submit(
                #"""
                {"name":"report","priority":"high","steps":[{"put":"a","value":{"x": 1},"ttl":9},
                {"merge":"a","patch":{"y":2}},{"put":"copy"},{"increment":"n","by":2},
                {"get":"copy"},
                {"transaction":{"if":[{"name":"n","revision":4}],"then":[{"delete":"n"}]}}]}
                """#
            )
            #expect(answer.status == 202)
            let operation = try answer.operation
            #expect(answer.headers["location"] == "/v1/operations/\(operation.id)")
            #expect((operation["name"], operation["priority"]) == ("report", "high"))
            let events = try site.events(of: operation.id)
            #expect(events.states == ["pending", "ready", "executing", "finished"])
            #expect(events.all.first?.text("created").hasSuffix("Z") == true)
            let end = try site.operation(operation.id)
            #expect(end.members["value"] as? [String: Any] != nil)
            #expect(end.members["progress"] as? Double == 1)
            #expect((end.members["step"] as? Int, end.members["steps"] as? Int) == (6, 6))
            #expect(try site.ask("GET", "/v1/properties/copy").text == #"{"x": 1,"y":2}"#)
            #expect(try site.ask("GET", "/v1/properties/n").status == 404)
            let resumed = try site.events(of: operation.id, after: events.all[2].number)
            #expect(resumed.states == ["finished"], "the stream goes on where it was left")
            let stream = try site.ask("GET", "/v1/operations/\(operation.id)/events").text
            let retry = stream.prefix { $0 != "\n" }.split(separator: " ")
            #expect(retry.first == "retry:" && retry.last.flatMap { Int($0) } ?? 0 >= 1000)
            for name in [".", ".."] {
                let refused = try site.submit(#"{"id":"\#(name)","steps":[{"wait":0}]}"#)
                #expect(refused.problem == "invalid-body")
            }
            let metrics = try site.ask("GET", "/metrics").text
            #expect(metrics.contains(#"latchkey_operations_ended_total{outcome="finished"} 1"#))
            #expect(metrics.contains(#"latchkey_operations{state="finished"} 1"#))
        }
    }

    @Test func `a repeat with its key starts no operation again, also once that is forgotten`()
        async throws
    {
        try await Deployment.inProcess.serve(limits: "operation-history=1") { site in
            let add = #"{"steps":[{"increment":"n"}]}"#
            func submit(_ body: String) throws -> HTTPAnswer {
                try site.ask("POST", "/v1/operations", body, headers: ["Idempotency-Key: k"])
            }
            let first = try submit(add)
            #expect(first.status == 202 && first.headers["idempotency-replayed"] == nil)
            let id = try first.operation.id
            #expect(try site.events(of: id).states.last == "finished")
            for isForgotten in [false, true] {
                if isForgotten {
                    let other = try site.submit(#"{"steps":[{"wait":0}]}"#).operation.id
                    #expect(try site.events(of: other).states.last == "finished")
                }
                let status = try site.ask("GET", "/v1/operations/\(id)").status
                #expect(status == (isForgotten ? 404 : 200))
                let again = try submit(add)
                #expect(again.status == 202 && again.text == first.text)
                #expect(again.headers["location"] == first.headers["location"])
                #expect(again.headers["idempotency-replayed"] == "true")
            }
            let another = try submit(#"{"steps":[{"increment":"n","by":2}]}"#)
            #expect(another.problem == "idempotency-key-reused")
            #expect(try site.ask("GET", "/v1/properties/n").text == "1")
            // A refused request is not kept, and its key is free.
            let list = #"{"operations":[\#(add),\#(add)]}"#
            for (body, status) in [("{}", 400), (list, 202), (list, 202)] {
                let key = ["Idempotency-Key: l"]
                let answer = try site.ask("POST", "/v1/operations", body, headers: key)
                #expect(answer.status == status)
            }
            let all = try site.ask("GET", "/metrics").text
            #expect(all.contains("latchkey_idempotency_replays_total 3"))
        }
    }

    @Test func `operations whose answer has no room for its key are not submitted again`()
        async throws
    {
        try await Deployment.inProcess.serve(["--idempotency-bytes", "4096"]) { site in
            let list = repeatElement(#"{"steps":[{"increment":"n"}]}"#, count: 30)
            let body = #"{"operations":[\#(list.joined(separator: ","))]}"#
            func submit() throws -> HTTPAnswer {
                try site.ask("POST", "/v1/operations", body, headers: ["Idempotency-Key: k"])
            }
            let first = try submit()
            #expect(first.status == 202 && first.body.count > 2048)
            for _ in 0..<2 {
                let again = try submit()
                #expect(again.problem == "answer-not-kept")
                #expect(again.headers["idempotency-replayed"] == "true")
            }
            try site.awaitMetric(#"latchkey_operations_ended_total{outcome="finished"}"#, 30)
            #expect(try site.ask("GET", "/v1/properties/n").text == "30")
        }
    }

    @Test func `a wait is cancelled, and later steps are not made`() async throws {
        try await Deployment.inProcess.serve { site in
            let id = try site.submit(
                #"{"steps":[{"put":"a","value":1},{"wait":3600},{"put":"b","value":1}]}"#
            ).operation.id
            let watching = try EventReader(site, id)
            try watching.skip { $0.members["step"] as? Int == 2 }
            // The stream's end shows the cancellation: the wait would take an hour.
            #expect(try site.ask("DELETE", "/v1/operations/\(id)").status == 202)
            #expect(try watching.rest().states == ["cancelled"])
            #expect(try site.operation(id)["state"] == "cancelled")
            #expect(
                try site.ask("DELETE", "/v1/operations/\(id)").operation["state"] == "cancelled"
            )
            #expect(try site.ask("GET", "/v1/properties/a").status == 200, "what is done stays")
            #expect(try site.ask("GET", "/v1/properties/b").status == 404)
        }
    }

    @Test func `a comparison is cancelled while it measures`() async throws {
        try await Deployment.inProcess.serve { site in
            let id = try site.submit(
                #"{"steps":[{"compare":{"strategies":["lock"],"threads":2,"seconds":60}}]}"#
            ).operation.id
            let watching = try EventReader(site, id)
            try watching.skip { $0.members["step"] as? Int == 1 }
            #expect(try site.ask("DELETE", "/v1/operations/\(id)").status == 202)
            #expect(try watching.rest().states == ["cancelled"])
        }
    }

    @Test func `a comparison ends with its report`() async throws {
        try await Deployment.inProcess.serve { site in
            let id = try site.submit(
                #"{"steps":[{"compare":{"strategies":["lock"],"threads":1,"seconds":0.1}}]}"#
            ).operation.id
            #expect(try site.events(of: id).states.last == "finished")
            let report = try #require(try site.operation(id).members["value"] as? [String: Any])
            #expect((report["cases"] as? [Any])?.count == 1)
        }
    }

    @Test(arguments: [Deployment.inProcess, .oneReplica])
    func `an error is caught, or fails what depends on the operation`(
        deployment: Deployment
    ) async throws {
        try await deployment.serve { site in
            let answer = try site.submit(
                #"""
                {"operations":[
                {"id":"caught","steps":[{"get":"none"}],"catch":[{"put":"error"}]},
                {"id":"late","dependsOn":["lost"],"steps":[{"put":"never","value":1}]},
                {"id":"lost","dependsOn":["caught"],"steps":[{"import":"{\"name\":\"a\"}"}]}]}
                """#
            )
            #expect(answer.status == 202)
            #expect(try site.events(of: "late").states == ["pending", "cancelled"])
            let error = try site.ask("GET", "/v1/properties/error").text
            #expect(error.contains("/problems/not-found"))
            let caught = try site.operation("caught")
            #expect(caught["state"] == "finished")
            #expect(caught.problem == "not-found")
            #expect(try site.operation("lost").problem == "invalid-line")
            #expect(try site.operation("late").problem == "dependency-failed")
            #expect(try site.ask("GET", "/v1/properties/never").status == 404)
        }
    }

    @Test func `the list shows the newest first, by state and page by page`() async throws {
        try await Deployment.inProcess.serve { site in
            for id in ["a", "b", "c"] {
                let body = #"{"id":"\#(id)","after":3600,"steps":[{"get":"x"}]}"#
                #expect(try site.submit(body).status == 202)
            }
            _ = try site.ask("DELETE", "/v1/operations/b")
            #expect(try site.list("") == ["c", "b", "a"])
            #expect(try site.list("?state=pending") == ["c", "a"])
            let page = try site.ask("GET", "/v1/operations?limit=2").json as? [String: Any]
            let next = try #require(page?["next"] as? String)
            #expect(try site.list("?limit=2&after=\(next)") == ["a"])
        }
    }

    @Test func `a drain cancels, and streams get a last event`() async throws {
        try await Deployment.inProcess.run { site, service in
            let id = try site.submit(#"{"steps":[{"wait":3600}]}"#).operation.id
            let watching = try EventReader(site, id)
            try watching.skip { $0.members["step"] as? Int == 1 }
            service.drain()
            #expect(try watching.rest().states == ["cancelled"])
        }
    }
}

// MARK: Reading

extension Site {
    func submit(_ body: String) throws -> HTTPAnswer {
        try ask("POST", "/v1/operations", body)
    }

    func operation(_ id: String) throws -> ShownOperation {
        try ask("GET", "/v1/operations/\(id)").operation
    }

    func list(_ query: String) throws -> [String] {
        let page = try ask("GET", "/v1/operations\(query)").json as? [String: Any]
        return (page?["operations"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    /// All events of an operation, up to its end.
    func events(of id: String, after number: String? = nil) throws -> ShownEvents {
        try EventReader(self, id, after: number).rest()
    }
}

/// An operation as the service shows it.
struct ShownOperation {
    let members: [String: Any]

    var id: String { self["id"] ?? "" }
    subscript(name: String) -> String? { members[name] as? String }

    /// The name of the problem that its error is.
    var problem: String? {
        let error = members["error"] as? [String: Any]
        return (error?["type"] as? String).map { String($0.dropFirst("/problems/".count)) }
    }
}

extension HTTPAnswer {
    var operation: ShownOperation {
        get throws { ShownOperation(members: try #require(json as? [String: Any], "\(text)")) }
    }
}

/// Events of an operation, in their order.
struct ShownEvents {
    struct Event {
        let kind: String
        let number: String
        let operation: ShownOperation

        func text(_ name: String) -> String { operation[name] ?? "" }
    }

    var all: [Event] = []

    /// The states of the events that are changes of state.
    var states: [String] { all.filter { $0.kind == "state" }.map { $0.text("state") } }
}

/// Reads the events of one operation from its stream.
struct EventReader {
    private let client: EventStreamClient

    init(_ site: Site, _ id: String, after number: String? = nil) throws {
        let target = "/v1/operations/\(id)/events"
        client = try site.stream(target, lastID: number)
        #expect(client.status == 200)
        #expect(client.headers["content-type"] == "text/event-stream")
    }

    /// Reads events up to one whose operation is as it is asked for.
    func skip(to isReached: (ShownOperation) -> Bool) throws {
        while let event = try next() {
            if isReached(event.operation) { return }
        }
        throw NeverCame("the stream ended early")
    }

    /// All further events, up to the end of the stream.
    func rest() throws -> ShownEvents {
        var events = ShownEvents()
        while let event = try next() { events.all.append(event) }
        return events
    }

    private func next() throws -> ShownEvents.Event? {
        guard let event = try client.next() else { return nil }
        let json = try JSONSerialization.jsonObject(with: Data(event.data.utf8)) as? [String: Any]
        return ShownEvents.Event(
            kind: event.type,
            number: event.id,
            operation: ShownOperation(members: try #require(json))
        )
    }
}
