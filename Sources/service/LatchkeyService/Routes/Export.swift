internal import Dispatch
internal import LatchkeyHTTP
internal import LatchkeyStore

/// The source of the bytes of a long answer, some at a time.
protocol PieceSource {
    /// The piece is long enough when it has this many bytes.
    ///
    /// - Returns: Whether there is more.
    mutating func append(to piece: inout [UInt8], atLeast byteCount: Int) -> Bool
}

/// The lines of an export.
struct ExportLines: PieceSource {
    private var walk: StateWalk
    private let isForReplica: Bool
    private var propertyCount: UInt64 = 0

    init(_ walk: StateWalk, isForReplica: Bool) {
        self.walk = walk
        self.isForReplica = isForReplica
    }

    /// Up to this many properties, and bytes of names and values, need no queue for their lines.
    private static let (fewCountMax, fewByteCountMax) = (16, 1024)

    /// All lines, if the properties are so few that they are made on the thread that serves.
    static func few(_ snapshot: StoreSnapshot, _ prefix: OwnedBytes) -> [UInt8]? {
        let found = snapshot.few(
            prefix: prefix,
            countMax: fewCountMax,
            byteCountMax: fewByteCountMax
        )
        guard let found else { return nil }
        var lines: [UInt8] = []
        for property in found { ExportLine.append(property, at: snapshot.time, to: &lines) }
        let count = UInt64(found.count)
        ExportLine.appendEnd(count: count, revision: snapshot.revision, to: &lines)
        return lines
    }

    mutating func append(to piece: inout [UInt8], atLeast byteCount: Int) -> Bool {
        while piece.count < byteCount {
            guard let property = walk.next() else {
                ExportLine.appendEnd(count: propertyCount, revision: walk.revision, to: &piece)
                return false
            }
            if isForReplica {
                ExportLine.append(exactly: property, to: &piece)
            } else {
                ExportLine.append(property, at: walk.time, to: &piece)
            }
            propertyCount += 1
        }
        return true
    }
}

/// A long answer on its way to one client.
///
/// **Design.** The state is used only on the queue of all exports. A turn there makes some pieces
/// and writes them to the stream, whose buffer is limited; then other exports have their turns.
/// When the buffer is full, the export waits, without a thread, until the stream calls back. The
/// source, which may keep the state of the whole store, goes as soon as the export is over.
///
/// SAFETY: `@unchecked Sendable` because the changing state is used only on the queue.
final class Export: @unchecked Sendable {
    /// A piece is as long as this, and the rest of a line: half of the stream's buffer.
    private static let pieceByteCount = ResponseStream.bufferBytesMax / 2 - 1024
    private static let turnPiecesMax = 4

    private let queue: DispatchQueue
    private let sent: @Sendable (Int) -> Void
    /// Nil when the export is over.
    private var progress: (source: any PieceSource, permit: ExportQueue.Permit)?
    private var isWhole = false
    /// The piece to write next.
    private var piece: [UInt8] = []

    init(
        _ source: any PieceSource,
        _ permit: ExportQueue.Permit,
        on queue: DispatchQueue,
        sent: @escaping @Sendable (Int) -> Void
    ) {
        self.queue = queue
        self.sent = sent
        progress = (source, permit)
    }

    /// The events of the stream.
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
        guard !isWhole else { return }
        piece.reserveCapacity(ResponseStream.bufferBytesMax / 2)
        isWhole = progress?.source.append(to: &piece, atLeast: Self.pieceByteCount) != true
    }

    private func finish() {
        progress = nil
        piece = []
    }
}
