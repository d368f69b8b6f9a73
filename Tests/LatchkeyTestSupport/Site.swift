internal import Foundation
internal import Testing

/// A running service, and short ways to send it requests.
package struct Site: Sendable {
    package let port: UInt16

    /// The service that listens on a port of loopback.
    package init(port: UInt16) { self.port = port }

    /// Connects from 127.0.0.N.
    package func client(from number: UInt8 = 1) throws -> HTTPClient {
        try HTTPClient(port: port, from: number)
    }

    /// One request on a connection of its own, from 127.0.0.N.
    package func ask(
        _ method: String,
        _ target: String,
        _ body: String? = nil,
        headers: [String] = [],
        from number: UInt8 = 1
    ) throws -> HTTPAnswer {
        try client(from: number)
            .request(method, target, headers: headers, body: body.map { Array($0.utf8) })
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
