internal import LatchkeyFrame
internal import LatchkeyHTTP
internal import LatchkeyJSON
internal import LatchkeyOperations
internal import LatchkeyStrategies

/// The stream of one operation's events.
///
/// **Design.** The stream keeps no events: its place is the number of the last event that was
/// written, and the board keeps the events. The thread that changed the operation, or the one that
/// found room, writes the new events. Only one of them writes at a time; the other sets a flag, and
/// the first one looks again. So the order is kept, and no thread waits.
final class OperationStream: Sendable {
    private struct Place {
        var number: UInt64
        var isWriting = false
        var hasNews = false
        var isOver = false
        var stopObserving: (@Sendable () -> Void)?
    }

    private let operations: Operations
    private let id: OperationID
    private let caller: Caller
    private let place: Guarded<Place>

    private init(
        _ operations: Operations,
        _ id: OperationID,
        _ caller: Caller,
        after number: UInt64
    ) {
        self.operations = operations
        self.id = id
        self.caller = caller
        place = Synchronized(Place(number: number))
    }

    /// Answers the request with the events after a number.
    static func start(
        _ request: ServiceRequest,
        _ operations: Operations,
        _ id: OperationID,
        after number: UInt64
    ) {
        let events = OperationStream(operations, id, request.caller, after: number)
        let stream = request.respond(
            events: ResponseStream.Events(
                hasRoom: { events.write(to: $0) },
                draining: { $0.end(with: ServerSentEvents.close) },
                gone: { _, _ in events.end() }
            )
        )
        let retry = Int.random(in: ServerSentEvents.retryMilliseconds)
        _ = stream.write(ServerSentEvents.start(retryMilliseconds: retry))
        events.observe(stream)
    }

    private func observe(_ stream: ResponseStream) {
        let stop = operations.observe(id) { [self] in write(to: stream) }
        let isOver = place.write { place in
            place.stopObserving = place.isOver ? nil : stop
            return place.isOver
        }
        if isOver {
            stop()
        } else {
            write(to: stream)
        }
    }

    private func end() {
        let stop = place.write { place in
            place.isOver = true
            defer { place.stopObserving = nil }
            return place.stopObserving
        }
        stop?()
    }

    /// Writes the new events, unless another thread does.
    private func write(to stream: ResponseStream) {
        let isFirst = place.write { place in
            place.hasNews = true
            guard !place.isWriting, !place.isOver else { return false }
            place.isWriting = true
            return true
        }
        guard isFirst else { return }
        while let number = takeNews() {
            let written = writeEvents(after: number, to: stream)
            place.write { $0.number = written }
        }
    }

    /// The number of the last event that was written, if there may be newer ones.
    private func takeNews() -> UInt64? {
        place.write { place in
            guard place.hasNews, !place.isOver else {
                place.isWriting = false
                return nil
            }
            place.hasNews = false
            return place.number
        }
    }

    /// Writes events while there is room, and ends the stream after the last one.
    private func writeEvents(after number: UInt64, to stream: ResponseStream) -> UInt64 {
        var written = number
        guard !caller.isRevoked else {
            stream.end(with: ServerSentEvents.close)
            return written
        }
        guard let found = operations.events(of: id, after: number) else {
            // The operation is forgotten.
            stream.end()
            return written
        }
        for event in found.events {
            // The caller may have lost a right since.
            guard caller.allows(.operations), event.operation.isVisible(to: caller),
                event.operation.isShown(to: caller)
            else {
                stream.end(with: ServerSentEvents.close)
                return written
            }
            guard stream.write(Self.text(event)) == .accepted else { return written }
            written = event.number
        }
        if found.hasEnded { stream.end() }
        return written
    }

    private static func text(_ event: OperationEvent) -> [UInt8] {
        var json = JSONWriter()
        json.operation(event.operation, includesValue: event.kind == .state)
        return ServerSentEvents.event(
            event.kind == .state ? "state" : "progress",
            id: "\(event.number)",
            data: json.bytes
        )
    }
}
