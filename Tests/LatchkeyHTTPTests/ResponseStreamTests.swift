import Dispatch
import Foundation
import LatchkeyHTTP
import LatchkeyTestSupport
import Testing

@Suite(.timeLimit(.minutes(15)), .offPool)
struct ResponseStreamTests {
    typealias Mode = TestServer.Mode

    /// Starts a server that answers `/stream` with a stream of these events, and everything else
    /// with its path.
    private static func server(
        _ mode: Mode,
        _ producer: Producer,
        bufferBytesMax: Int = ResponseStream.bufferBytesMax
    ) throws -> TestServer {
        try TestServer(mode, bufferBytesMax: bufferBytesMax, streaming: producer.events) {
            producer.add($0)
        }
    }

    @Test(arguments: Mode.allCases)
    func `the pieces of a stream arrive when they are written`(mode: Mode) async throws {
        let producer = Producer()
        let server = try Self.server(mode, producer)
        let curl = Process()
        let output = Pipe()
        curl.executableURL = URL(filePath: "/usr/bin/env")
        let scheme = mode.isEncrypted ? "https" : "http"
        curl.arguments = ["curl", "-ksNi", "\(scheme)://127.0.0.1:\(server.port)/stream"]
        curl.standardOutput = output
        try curl.run()
        let stream = try #require(producer.next())
        var text = ""
        for piece in ["one ", "two ", "three"] {
            #expect(stream.write(Array(piece.utf8)) == .accepted)
            while !text.hasSuffix(piece) {
                let more = output.fileHandleForReading.availableData
                try #require(!more.isEmpty)
                text += String(decoding: more, as: UTF8.self)
            }
        }
        stream.end()
        #expect(stream.write([0x78]) == .gone)
        #expect(output.fileHandleForReading.readDataToEndOfFile().isEmpty)
        curl.waitUntilExit()
        #expect(curl.terminationStatus == 0)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("X-Kind: stream\r\n"))
        #expect(text.hasSuffix("\r\n\r\none two three"))
        #expect(producer.awaitEnd() == .ended)
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a producer is told when a full stream has room`(mode: Mode) async throws {
        let producer = Producer()
        let server = try Self.server(mode, producer, bufferBytesMax: 1000)
        let client = try server.client()
        client.send(get("/stream"))
        let stream = try #require(producer.next())
        let writer = DispatchQueue(label: "writer")
        let pieces = (0..<500).map { String(repeating: "\($0 % 10)", count: 1 + $0 % 900) }
        writer.async {
            for piece in pieces {
                while stream.write(Array(piece.utf8)) == .full {
                    producer.room.wait()
                }
            }
            stream.end()
        }
        #expect(client.read(headOnly: true).field("Transfer-Encoding") == "chunked")
        #expect(client.readChunks() == pieces.joined())
        #expect(client.ask(get("/now")).text == "now")
        client.close()
        #expect(producer.awaitEnd() == .ended)
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a producer is told when its client has gone`(mode: Mode) async throws {
        let producer = Producer()
        let server = try Self.server(mode, producer)
        for goes in [{ $0.close() }, { $0.reset() }] as [(RawClient) -> Void] {
            let client = try server.client()
            client.send(get("/stream"))
            let stream = try #require(producer.next())
            #expect(client.read(headOnly: true).status == 200)
            try await server.await("a stream") { $0.streaming == 1 && $0.inFlight == 0 }
            goes(client)
            #expect(producer.awaitEnd() == .client)
            #expect(stream.write([0x78]) == .gone)
        }
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a stop ends streams in order`(mode: Mode) throws {
        let producer = Producer()
        let server = try Self.server(mode, producer)
        let client = try server.client()
        client.send(get("/stream"))
        let stream = try #require(producer.next())
        #expect(client.read(headOnly: true).status == 200)
        #expect(stream.write(Array("last words".utf8)) == .accepted)
        #expect(server.server.stop(within: Patience.duration) == (0, 0))
        #expect(client.readChunks() == "last words" && client.seesEnd())
        #expect(producer.awaitEnd() == .ended)
    }

    @Test func `a stream is freed when it is over and its producer has let it go`() async throws {
        let producer = Producer()
        let server = try Self.server(.eventLoops, producer)
        let client = try server.client()
        client.send(get("/stream"))
        weak let stream = producer.next()
        try #require(stream != nil)
        stream?.end()
        #expect(client.read(headOnly: true).status == 200 && client.readChunks()?.isEmpty == true)
        client.close()
        #expect(producer.awaitEnd() == .ended)
        for _ in 0..<500 * Patience.seconds where stream != nil {
            // Sleeps because the C side lets it go without a word, right after the last event.
            try await Task.sleep(for: .milliseconds(2))
        }
        #expect(stream == nil)
        try await server.stop()
    }

    @Test func `a field that is not valid makes a 500 of a stream`() async throws {
        let producer = Producer()
        let server = try Self.server(.eventLoops, producer)
        let client = try server.client()
        #expect(client.ask(get("/bad-stream")).status == 500)
        #expect(producer.next()?.write([0x78]) == .gone)
        #expect(producer.awaitEnd() != .ended)
        client.close()
        try await server.stop()
    }

    @Test(arguments: Mode.allCases)
    func `a handler may wait longer than the others`(mode: Mode) async throws {
        let server = try TestServer(mode) {
            $0.answerTimeout = .milliseconds(100)
            $0.hasStandingClock = true
        }
        let (client, other) = (try server.client(), try server.client())
        client.send(get("/wait"))
        try await server.await("a waiting request") { $0.suspended == 1 }
        other.send(get("/hold"))
        // The deadline of both has passed when the other one was taken away.
        try await server.pass(until: "a late answer") { $0.timedOutTotal == 1 }
        #expect(other.read().status == 503)
        server.letGo(2)
        #expect(client.read().status == 200)
        client.close()
        other.close()
        try await server.stop()
    }
}

/// The streams that a server has answered with, and what their producer was told.
///
/// SAFETY: `@unchecked Sendable` because the queue guards the arrays.
final class Producer: @unchecked Sendable {
    let room = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "producer")
    private let added = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private var streams: [ResponseStream] = []
    private var ends: [ResponseStream.End] = []

    var events: ResponseStream.Events {
        ResponseStream.Events(
            hasRoom: { _ in self.room.signal() },
            gone: { _, end in
                self.queue.sync { self.ends.append(end) }
                self.ended.signal()
            }
        )
    }

    func add(_ stream: ResponseStream) {
        queue.sync { streams.append(stream) }
        added.signal()
    }

    /// The next stream, which is not kept; nil if there is none in time.
    func next() -> ResponseStream? {
        guard added.isSignalled() else { return nil }
        return queue.sync { streams.removeFirst() }
    }

    /// Why the next stream is over; nil if none is in time.
    func awaitEnd() -> ResponseStream.End? {
        guard ended.isSignalled() else { return nil }
        return queue.sync { ends.removeFirst() }
    }
}
