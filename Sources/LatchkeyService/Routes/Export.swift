internal import Dispatch
internal import LatchkeyHTTP
internal import LatchkeyStore

/// An export on its way to one client.
///
/// **Design.** The state is used only on the queue of all exports. A turn there makes some pieces
/// and writes them to the stream, whose buffer is bounded; then other exports have theirs. When the
/// buffer is full, the export waits, without a thread, until the stream calls back. The walk, which
/// keeps the state of the whole store, goes as soon as the export is over.
///
/// SAFETY: `@unchecked Sendable` because what changes is used only on the queue.
final class Export: @unchecked Sendable {
    /// A piece is as long as this, and the rest of a line: half of the stream's buffer.
    private static let pieceByteCount = ResponseStream.bufferBytesMax / 2 - 1024
    private static let turnPiecesMax = 4

    private let queue: DispatchQueue
    private let time: Timestamp
    private let revision: Revision
    private let isForReplica: Bool
    private let sent: @Sendable (Int) -> Void
    /// Nil when the export is over.
    private var progress: (walk: StateWalk, permit: ExportQueue.Permit)?
    private var propertyCount: UInt64 = 0
    /// Whether the last line is made, which says that the export is whole.
    private var isWhole = false
    /// What is to be written next.
    private var piece: [UInt8] = []

    init(
        _ walk: StateWalk,
        _ permit: ExportQueue.Permit,
        isForReplica: Bool,
        on queue: DispatchQueue,
        sent: @escaping @Sendable (Int) -> Void
    ) {
        self.queue = queue
        self.sent = sent
        self.isForReplica = isForReplica
        time = walk.time
        revision = walk.revision
        progress = (walk, permit)
    }

    /// What the stream calls.
    var events: ResponseStream.Events {
        ResponseStream.Events(
            hasRoom: { self.start($0) },
            draining: { _ in },
            gone: { _, _ in self.queue.async { self.finish() } }
        )
    }

    /// Writes until the stream is full.
    func start(_ stream: ResponseStream) {
        queue.async { self.takeTurn(stream) }
    }

    private func takeTurn(_ stream: ResponseStream) {
        for _ in 0..<Self.turnPiecesMax {
            guard progress != nil else {
                return
            }
            if piece.isEmpty {
                makePiece()
            }
            guard !piece.isEmpty else {
                stream.end()
                finish()
                return
            }
            switch stream.write(piece) {
            case .accepted:
                sent(piece.count)
                piece.removeAll(keepingCapacity: true)
            case .full:
                return
            case .gone:
                finish()
                return
            }
        }
        start(stream)
    }

    private func makePiece() {
        piece.reserveCapacity(ResponseStream.bufferBytesMax / 2)
        while piece.count < Self.pieceByteCount, !isWhole {
            if let property = progress?.walk.next() {
                if isForReplica {
                    ExportLine.append(exactly: property, to: &piece)
                } else {
                    ExportLine.append(property, at: time, to: &piece)
                }
                propertyCount += 1
            } else {
                ExportLine.appendEnd(count: propertyCount, revision: revision, to: &piece)
                isWhole = true
            }
        }
    }

    private func finish() {
        progress = nil
        piece = []
    }
}
