internal import Foundation
internal import Testing

/// A running service, and short ways to send it requests.
package struct Site: Sendable {
    package let port: UInt16
    /// Header lines that all requests have, besides their own.
    private var fields: [String] = []

    /// The service that listens on a port of loopback.
    package init(port: UInt16) { self.port = port }

    /// The same, for requests with a token.
    package func with(_ tokens: Tokens, _ name: String) -> Site {
        var site = self
        site.fields = tokens.headers(name)
        return site
    }

    /// Connects from 127.0.0.N.
    package func client(from number: UInt8 = 1, offer: TLSOffer = TLSOffer()) throws -> HTTPClient {
        try HTTPClient(port: port, from: number, offer: offer)
    }

    /// One request on a connection of its own, from 127.0.0.N.
    package func ask(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> HTTPAnswer {
        try asking(method, target, body, headers: headers, from: number)
            .answer(toHEAD: method == "HEAD")
    }

    /// A client that has sent a request, and has not read the answer.
    package func asking(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> HTTPClient {
        let client = try client(from: number)
        let body = body.map { Array($0.utf8) }
        try client.begin(method, target, headers: fields + headers, body: body)
        return client
    }

    /// A client that has sent a text as it stands, from 127.0.0.N.
    package func sending(_ text: String, from number: UInt8 = 1) throws -> HTTPClient {
        let client = try client(from: number)
        try client.send(text)
        return client
    }

    /// A stream of events.
    package func stream(
        _ target: String,
        lastID: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> EventStreamClient {
        let lines = fields + headers
        return try EventStreamClient(
            port: port,
            target,
            lastID: lastID,
            from: number,
            headers: lines
        )
    }

    /// Waits until a metric without labels has a value; asks from 127.0.0.N.
    package func awaitMetric(
        _ metric: String,
        _ value: Int,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws {
        try eventually("\(metric) is \(value)") {
            try ask("GET", "/metrics", headers: headers, from: number).text
                .contains("\n\(metric) \(value)\n")
        }
    }

    /// Checks that the service is up, whatever was done to it before.
    package func isWell() throws {
        #expect(try ask("GET", "/healthz").text == #"{"status":"ok"}"#)
    }
}
